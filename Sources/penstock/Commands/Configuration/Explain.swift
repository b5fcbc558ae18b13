import ArgumentParser
import DaemonConfiguration
import Events
import Explanation
import Journal
import Platform
import Routing

struct Explain: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "explained", 1: "an event would be refused", 2: "the configuration is not valid, or there is no event",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Show how an event is routed: matching routes, transforms, and the final requests.",
        discussion: """
            Reads only the configuration and the event. It does not ask the daemon and sends nothing. It reads no \
            secrets and prints their names instead, so the output is safe to share. For the same reason, a hash with a \
            key differs from the real one. The transforms dedupe and throttle depend on earlier events: for an event \
            of the journal, those are the events before it in the journal; for an event from a file or stdin, only \
            those of the input.

            \(exitCodes)

            Examples:
              penstock explain event.json
              penstock explain --source apps --uid 33 event.json
              penstock explain --where 'event = "Order Completed"'
              penstock explain --from-journal 48210 --destination archive
            """)

    @Option(
        name: .customLong("config"), help: "The configuration file; conf.d/*.yaml beside it is read, too.",
        completion: .configurationFile)
    var file = Locations.configuration

    @Option(help: "The source that receives the events. Default: the first source.")
    var source: String?

    @Option(
        help: "The number of the user that sends the events, for context.penstock.peer. Default: no user is known.")
    var uid: Int?

    @Option(help: "The number of this user's group. Default: that of the user.")
    var gid: Int?

    @Option(
        name: .customLong("destination"), help: "Explain only this destination.", completion: .configuredDestination)
    var destinations: [String] = []

    @Option(
        name: .customLong("from-journal"),
        help: "Explain the event at this position of the journal. The journal is only read.")
    var position: UInt64?

    @Option(name: .customLong("where"), help: "Explain the newest event in the journal that matches this filter (FQL).")
    var filter: String?

    @Flag(help: "Print a line of JSON for each event.")
    var json = false

    @Argument(
        help: "A file of JSON events, or - for stdin. An event may take one line or several. Default: stdin.",
        completion: .eventFile)
    var events: String?

    func validate() throws {
        if let events, position != nil || filter != nil {
            throw ValidationError(
                "the event comes from the journal: leave out \(events), "
                    + "or \(position != nil ? "--from-journal" : "--where")"
            )
        }
        if let option = uid != nil ? "--uid" : gid != nil ? "--gid" : nil {
            if position != nil || filter != nil {
                throw ValidationError("the journal has the sender of its events: leave out \(option)")
            }
            guard uid != nil else { throw ValidationError("--gid needs --uid") }
        }
        for (option, id) in [("--uid", uid), ("--gid", gid)] {
            if let id, !TestPeer.ids.contains(id) {
                throw ValidationError(
                    "\(option) is \(id): give a number from 0 to \(TestPeer.ids.upperBound), as id(1) shows it")
            }
        }
        if position != nil, filter != nil {
            throw ValidationError("--from-journal and --where exclude each other: give one of them")
        }
    }

    func run() throws {
        let configuration = try loadConfiguration()
        if position == nil, filter == nil {
            try explainInput(configuration)
        } else {
            try explainStored(configuration)
        }
    }

    /// Explains an event of the journal. It was accepted and scrubbed when it was received.
    private func explainStored(_ configuration: Configuration) throws {
        do {
            let matcher = try filter.map {
                FilterMatcher(try FilterArgument.parse($0), host: HostName.current, userNames: Accounts.userName)
            }
            let stored = try StoredEvents(directory: configuration.journal.directory, disk: SystemDisk())
            let batch: EventBatch?
            if let matcher {
                batch = try stored.last { event, batch in
                    matcher.matches(batch.json(of: event), event.index, from: batch.origin(of: event))
                }
            } else {
                batch = try stored.event(at: position ?? 0)
            }
            guard let batch, let event = batch.events.first else {
                throw failure(
                    position.map { "there is no event at position \($0) in" } ?? "no event matches in",
                    configuration.journal.directory)
            }
            show(try makeExplainer(configuration, .stored(stored)).explain(stored: event, of: batch))
        } catch let error as JournalError {
            throw failure("\(error)")
        } catch let fault as FilterArgument.Fault {
            throw failure(fault.description)
        }
    }

    private func explainInput(_ configuration: Configuration) throws {
        let explainer = makeExplainer(configuration, .unknown)
        var isRefused = false
        let now = SystemClock().wallClock()
        let texts = EventInput.split(try input())
        if texts.isEmpty { throw failure("there is no event in \(path == "-" ? "the input" : path)") }
        for (number, text) in texts.enumerated() {
            let explanation = explainer.explain(text, position: UInt64(number), receivedAt: now)
            if case .refused = explanation.verdict { isRefused = true }
            if number > 0, !json { print("") }
            show(explanation)
        }
        if isRefused { throw Self.exitCodes[1] }
    }

    private func show(_ explanation: EventExplanation) {
        if json {
            print(explanation.json.text)
        } else {
            print(ExplanationText(ANSIStyle(isOn: stdoutTakesColour)).render(explanation), terminator: "")
        }
    }

    private func makeExplainer(_ configuration: Configuration, _ earlier: EarlierEvents) -> EventExplainer {
        EventExplainer(
            configuration, source: source, from: uid.map { TestPeer(uid: $0, gid: gid) }, only: destinations,
            host: HostName.current, earlier: earlier, userNames: Accounts.userName)
    }

    private func loadConfiguration() throws -> Configuration {
        let loaded = ConfigurationLoader.withStandIns().load(file: file)
        for error in loaded.errors { printError(error.description) }
        guard let configuration = loaded.configuration else { throw Self.exitCodes[2] }
        let names =
            destinations.map { (Configuration.NamedKind.destination, $0) } + (source.map { [(.source, $0)] } ?? [])
        for case let absence? in names.map({ configuration.absence(of: $0, $1) }) {
            throw failure("\(absence.message)\nhint: \(absence.hint)")
        }
        return configuration
    }

    /// The input file.
    private var path: String { events ?? "-" }

    private func input() throws -> [UInt8] {
        do {
            let file = path == "-" ? try StandardStream.input.duplicate() : try FileDescriptor.openForReading(path)
            var text: [UInt8] = []
            while text.count < Self.maximumInput {
                let bytes = try file.read(upTo: 64 << 10)
                if bytes.isEmpty { return text }
                text += bytes
            }
        } catch {
            throw failure("\(error)")
        }
        throw failure(
            "\(path == "-" ? "the input" : path) is larger than \(Self.maximumInput >> 20) MiB: "
                + "explain fewer events at once"
        )
    }

    /// In bytes. The input is held in memory, and explanations are for people to read.
    private static let maximumInput = 64 << 20

    /// Prints an error and returns exit status 2.
    private func failure(_ words: String...) -> ExitCode {
        printError(words.joined(separator: " "))
        return Self.exitCodes[2]
    }
}
