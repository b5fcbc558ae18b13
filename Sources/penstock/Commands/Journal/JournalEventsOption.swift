import ArgumentParser
import Journal
import Routing

/// Selects events of the journal, for commands that look at many of them.
struct JournalEventsOption: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The earliest receive time: \(Replay.Time.forms). Default: all events of the journal.", valueName: "time"))
    var from: Replay.Time?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The end of the range, exclusive: \(Replay.Time.forms). Default: now.", valueName: "time"))
    var until: Replay.Time?

    @Option(name: .customLong("where"), help: "Only events that match this filter (FQL).")
    var filter: String?

    @Option(
        help: "The journal's directory, or a copy of it. Default: journal.directory of the configuration.",
        completion: .directory)
    var directory: String?

    var range: DumpRange {
        DumpRange(
            from: from.map { .time($0.nanoseconds) }, until: until.map { .time($0.nanoseconds) })
    }

    func parsedFilter() throws -> Filter? { try filter.map(FilterArgument.parse) }
}
