import ArgumentParser
import Control
import Journal
import Platform

struct JournalVerify: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "whole", 1: "damaged", 2: "unreadable"]

    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Read the whole journal and report damage.",
        discussion: """
            Checks the segments and their seals, the two slots of the cursor file, the manifest and the dead letters. \
            For each gap, reports the missing positions and the receive times of the events before and after it. If \
            stderr is a terminal, a line shows the progress.

            \(exitCodes)

            Examples:
              penstock journal verify
              penstock journal verify --directory /backup/journal --json
            """)

    @OptionGroup var journal: JournalOption

    @Flag(help: "Print the findings as JSON.")
    var json = false

    func run() throws {
        var bar: ProgressBar?
        defer { bar?.clear() }
        let found = try journal.read { journal in
            try journal.inspect { done, total in
                var shown = bar ?? ProgressBar("verify", total: total)
                shown.show(done: done, note: Readable.size(UInt64(clamping: done)))
                bar = shown
            }
        }
        bar?.clear()
        var output = ResultStream()
        output.write(json ? try found.json() + "\n" : text(found))
        try output.finish()
        if found.verdict == .damaged { throw Self.exitCodes[1] }
    }

    private func text(_ found: JournalInspection) -> String {
        func counted(_ number: UInt64, _ noun: String, _ plural: String) -> String {
            Readable.grouped(number) + " " + (number == 1 ? noun : plural)
        }
        let count = UInt64(found.problems.count)
        var text = "\(found.directory) is " + (found.verdict == .whole ? "whole" : "damaged")
        text += count == 0 ? "\n" : ": \(counted(count, "problem", "problems"))\n"
        text += "positions \(found.first) to \(found.next) (exclusive): \(counted(found.events, "event", "events")) in "
        text += "\(counted(UInt64(found.batches), "batch", "batches")), "
        text += "\(counted(UInt64(found.segments.count), "segment", "segments")), "
        text += "\(found.segments.count { $0.state == .sealed }) sealed\n"
        for problem in found.problems { text += "problem: \(problem)\n" }
        for note in found.notes { text += "note: \(note)\n" }
        text += gaps(found.gaps) + slots(found.cursorSlots) + found.cursorTable + deadLetters(found.deadLetters)
        if !found.quarantine.isEmpty {
            var table = TextTable("QUARANTINE", ">BYTES")
            for file in found.quarantine { table.add(file.name, "\(file.bytes)") }
            text += "\n" + table.render()
        }
        return text
    }

    private func gaps(_ gaps: [JournalInspection.Gap]) -> String {
        if gaps.isEmpty { return "" }
        var table = TextTable(">FROM", ">TO", "REASON", "FILE", ">OFFSET", ">BYTES", "AFTER", "BEFORE", "COPY")
        for gap in gaps {
            table.add(
                "\(gap.first)", "\(gap.end)", gap.reason, gap.file, "\(gap.offset)", "\(gap.length)", gap.after ?? "-",
                gap.before ?? "-", gap.copy ?? "-")
        }
        return "\n" + table.render()
    }

    private func slots(_ slots: [JournalInspection.CursorSlot]) -> String {
        if slots.isEmpty { return "\nno cursors have been written yet\n" }
        let texts = slots.enumerated().map { number, slot in
            "slot \(number) \(slot.state.rawValue)" + (slot.generation.map { " (generation \($0))" } ?? "")
        }
        return "\ncursors: " + texts.joined(separator: ", ") + "\n"
    }

    private func deadLetters(_ all: [JournalInspection.DeadLetters]) -> String {
        if all.isEmpty { return "" }
        var table = TextTable("DEAD LETTERS", ">LETTERS", ">SIZE", ">GAPS")
        for one in all {
            table.add(
                one.name, Readable.grouped(one.letters), Readable.size(UInt64(clamping: one.bytes)),
                "\(one.gaps.count)")
        }
        return "\n" + table.render()
    }
}

extension JournalInspection {
    /// A table of the cursors with their positions and lag.
    var cursorTable: String {
        var table = TextTable("CURSOR", ">POSITION", ">LAG", ">STATE")
        for cursor in cursors {
            table.add(
                cursor.destination, "\(cursor.position)", Readable.grouped(cursor.lagEvents),
                "\(cursor.stateBytes) B"
            )
        }
        return cursors.isEmpty ? "" : table.render()
    }
}
