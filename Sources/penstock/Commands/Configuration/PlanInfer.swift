import ArgumentParser
import Assembly
import Events
import Journal
import PlanInference
import Platform
import Routing

struct PlanInfer: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "written", 1: "there are no such events", 2: "unreadable"]

    static let configuration = CommandConfiguration(
        commandName: "infer", abstract: "Write a tracking plan from the events that the journal keeps.",
        discussion: """
            Prints a plan of what was observed: names, properties and their types, and which properties are always \
            there. The observed events conform to it, except those that a comment of the plan names as left out. \
            The comments also say how many events each line is based on. Review it before you enforce it: what has not \
            been sent yet is not in it.

            Values are in the plan only if a property has few texts (enum), each in events of at least 5 users, and \
            none looks like an address, a number or an id of somebody. The names of events and properties are in the \
            plan. The journal is only read, past the page cache and with the lowest priority.

            A time is RFC 3339 (2026-01-31T12:00:00Z), a date (2026-01-31, from midnight UTC), or an age: 24h, 7d.

            \(exitCodes)

            Examples:
              penstock plan infer --from 7d > plans/shop.yaml
              penstock plan infer --where 'context.app.name = "shop"' --directory /backup/journal
            """)

    @OptionGroup var events: JournalEventsOption

    @Option(
        name: .customLong("config"),
        help:
            "The configuration that names the journal's directory. (default: \(Locations.configuration), if it exists)",
        completion: .configurationFile)
    var file: String?

    /// Bytes of events that are held at once.
    private static let piece = 1 << 20

    func run() throws {
        BackgroundPriority.enter()
        do {
            let inference = PlanInference()
            let heading = try observe(inference)
            guard !inference.isEmpty else {
                printError("the journal has no events here that a plan can describe, so there is nothing to infer")
                throw Self.exitCodes[1]
            }
            var output = ResultStream()
            output.write(PlanText.render(inference, heading: heading))
            try output.finish()
        } catch let error where !(error is ExitCode) {
            printError(error)
            throw Self.exitCodes[2]
        }
    }

    /// - Returns: the comment at the start of the plan.
    private func observe(_ inference: PlanInference) throws -> [String] {
        let matcher = try events.parsedFilter().map {
            FilterMatcher($0, host: HostName.current, userNames: UserNameCache.shared.lookUp)
        }
        let directory =
            try events.directory
            ?? JournalLocation.directory(configuration: file ?? Locations.configuration, isRequired: file != nil)
        let reader = try StoredEvents(directory: directory, disk: SystemDisk()).makeReader(of: events.range)
        var bar = ProgressBar("infer", total: reader.progress.total)
        defer { bar.clear() }
        var batch = EventBatch()
        var times: (first: Int64, last: Int64)?
        while try reader.read(into: &batch, maximumBytes: Self.piece) {
            for event in batch.events {
                if let matcher,
                    !matcher.matches(batch.json(of: event), event.index, from: batch.origin(of: event))
                {
                    continue
                }
                inference.observe(batch.json(of: event), event.index)
                times = (times?.first ?? event.receivedAt, event.receivedAt)
            }
            bar.show(done: reader.progress.done, note: Readable.counted(inference.events, "event"))
        }
        if reader.missing > 0 {
            bar.clear()
            printError(
                "\(Readable.counted(reader.missing, "event")) cannot be read and"
                    + " \(reader.missing == 1 ? "was" : "were") not observed: see penstock journal verify")
        }
        guard let times else { return [] }
        return [
            "Inferred from \(Readable.counted(inference.events, "event")), received"
                + " \(Timestamp.format(times.first)) to \(Timestamp.format(times.last)).",
            "Review it before you enforce it: it describes what was sent, not what should be sent.",
        ]
    }
}
