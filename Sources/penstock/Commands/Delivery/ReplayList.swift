import Control
import Foundation
import Platform

/// `penstock replay --list`.
struct ReplayList {
    let control: ControlOption
    let json: Bool

    func print() throws {
        let replays = try StatusQuestion(control: control).ask().destinations.compactMapValues(\.replay)
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            Swift.print(String(decoding: try encoder.encode(replays), as: UTF8.self))
            return
        }
        guard !replays.isEmpty else { return printError("no destination has a replay") }
        var table = TextTable(
            "DESTINATION", "ID", "STATE", ">DONE", ">DELIVERED", ">FILTERED", ">DEAD", ">MISSING", "FROM", "UNTIL",
            "LAST ERROR")
        for (name, replay) in replays.sorted(by: { $0.key < $1.key }) {
            let counts = [replay.delivered, replay.filtered, replay.deadLettered, replay.missing].map(
                Readable.grouped)
            table.add(
                name, replay.id, replay.state.rawValue, "\(replay.percent) %", counts[0], counts[1], counts[2],
                counts[3],
                replay.from, replay.until, replay.lastError ?? "")
        }
        Swift.print(table.render(), terminator: "")
    }

    static func counts(_ replay: StatusReport.Destination.Replay) -> String {
        var text =
            "\(replay.state.rawValue): \(Readable.grouped(replay.delivered)) delivered, "
            + "\(Readable.grouped(replay.filtered)) filtered out"
        if replay.deadLettered > 0 { text += ", \(Readable.grouped(replay.deadLettered)) dead letters" }
        if replay.missing > 0 { text += ", \(Readable.grouped(replay.missing)) no longer in the journal" }
        return text
    }
}
