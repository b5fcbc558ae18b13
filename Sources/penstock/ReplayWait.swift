import ArgumentParser
import Control
import Foundation
import Glibc

/// Watches a replay until it is over, with a bar on a terminal.
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
            // After a restart the daemon does not know what had ended before.
            guard let replay = report.destinations[destination]?.replay, replay.id == id else { break }
            last = replay
            if replay.state.isOver { break }
            var shown = bar ?? ProgressBar(total: Int(clamping: replay.end - min(replay.start, replay.end)))
            let trouble = replay.lastError.map { replay.state == .running ? "" : ", \(replay.state.rawValue): \($0)" } ?? ""
            shown.show(
                done: Int(clamping: replay.position - min(replay.start, replay.position)),
                note: "\(StatusText.grouped(replay.delivered)) delivered\(trouble)")
            bar = shown
            usleep(100_000)
        }
        bar?.clear()
        // One that the daemon knows no more has come to its end.
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
