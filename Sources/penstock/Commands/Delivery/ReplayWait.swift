import ArgumentParser
import Control
import Foundation
import Platform

/// Waits until a replay is over, and shows a progress bar on a terminal.
struct ReplayWait {
    let control: ControlOption
    let destination: String
    let id: String
    let json: Bool

    func run() throws {
        var bar: ProgressBar?
        var last: StatusReport.Destination.Replay?
        while true {
            let report = try StatusQuestion(control: control).ask()
            // After a restart, the daemon no longer knows replays that ended before.
            guard let replay = report.destinations[destination]?.replay, replay.id == id else { break }
            last = replay
            if replay.state.isOver { break }
            var shown = bar ?? ProgressBar("replay", total: Int(clamping: replay.end - min(replay.start, replay.end)))
            let trouble =
                replay.lastError.map { replay.state == .running ? "" : ", \(replay.state.rawValue): \($0)" } ?? ""
            shown.show(
                done: Int(clamping: replay.position - min(replay.start, replay.position)),
                note: "\(Readable.grouped(replay.delivered)) delivered\(trouble)")
            bar = shown
            Thread.sleep(forTimeInterval: 0.1)
        }
        bar?.clear()
        // A replay that the daemon no longer knows is done.
        guard var last else { return }
        if !last.state.isOver { last.state = .done }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(last), as: UTF8.self))
        } else {
            print(ReplayList.counts(last))
        }
        if last.state == .cancelled { throw ExitCode.failure }
    }
}
