import ArgumentParser
import Control
import Journal
import Platform

struct JournalStat: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "shown", 2: "unreadable"]

    static let configuration = CommandConfiguration(
        commandName: "stat", abstract: "Show the segments with their sizes, and the cursors.",
        discussion: """
            The figures of a sealed segment come from its seal, without reading its events. Other segments are read.

            \(exitCodes)
            """)

    @OptionGroup var journal: JournalOption

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func run() throws {
        let found = try journal.read { try $0.inspect(everything: false) }
        var output = ResultStream()
        output.write(json ? try found.json() + "\n" : text(found))
        try output.finish()
    }

    private func text(_ found: JournalInspection) -> String {
        var text = "\(found.directory): positions \(found.first) to \(found.next) (exclusive), "
        text += "\(Readable.size(UInt64(clamping: found.bytes))), journal \(found.uuid)\n"
        if !found.segments.isEmpty {
            var table = TextTable("SEGMENT", "STATE", ">FIRST", ">END", ">SIZE", ">USED", "EARLIEST", "LATEST")
            for segment in found.segments {
                table.add(
                    segment.name, segment.state.rawValue, "\(segment.first)", "\(segment.end)",
                    Readable.size(UInt64(clamping: segment.bytes)),
                    Readable.size(UInt64(clamping: segment.usedBytes)),
                    segment.earliest ?? "-", segment.latest ?? "-")
            }
            text += "\n" + table.render()
        }
        if !found.cursors.isEmpty { text += "\n" + found.cursorTable }
        if found.verdict == .damaged { text += "\nthe journal is damaged: see penstock journal verify\n" }
        return text
    }
}
