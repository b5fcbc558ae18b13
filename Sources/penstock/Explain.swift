import ArgumentParser
import Configuration
import Events
import Explanation
import Glibc
import Journal
import Platform
import Routing

struct Explain: ParsableCommand {
    private static let endings: Endings = [0: "explained", 1: "an event would be refused", 2: "the configuration is not valid, or there is nothing to explain"]

    static let configuration = CommandConfiguration(
        abstract: "Show an event's way: which routes take it and why not, what is changed, what is sent.",
        discussion: """
            Works on the configuration alone: no daemon is asked, nothing is sent, and no secret is \
            read: their names stand in their places, so what is printed can be passed on. (A hash \
            with a key therefore differs from the real one.) What dedupe and throttle remember is, for \
            an event of the journal, what came before it there; for a given one, the input alone.

            \(endings)
            """)

    @Option(name: .customLong("config"), help: "The configuration; conf.d beside it is read, too.")
    var file = Locations.configuration

    @Option(help: "The source that the events come through; the first one if not given.")
    var source: String?

    @Option(name: .customLong("destination"), help: "Tell of this destination only; may be repeated.")
    var destinations: [String] = []

    @Option(name: .customLong("from-journal"), help: "Take the event at this position of the journal, which is only read.")
    var position: UInt64?

    @Option(name: .customLong("where"), help: "Take the newest event in the journal that this filter (FQL) lets through.")
    var filter: String?

    @Flag(help: "Print a line of JSON for each event.")
    var json = false

    @Argument(help: "A file of events, or - for stdin, which it is if none is given: one a line, or spread over several.")
    var events: String?

    func validate() throws {
        if let events, position != nil || filter != nil {
            throw ValidationError("the event comes from the journal: leave out \(events), or \(position != nil ? "--from-journal" : "--where")")
        }
        if position != nil, filter != nil { throw ValidationError("--from-journal names one event, --where looks for one: give one of the two") }
    }

    func run() throws {
        let configuration = try loadConfiguration()
        if position == nil, filter == nil {
            try explainInput(configuration)
        } else {
            try explainStored(configuration)
        }
    }

    /// An event that the journal holds: it was accepted and scrubbed when it came.
    private func explainStored(_ configuration: Configuration) throws {
        do {
            let matcher = try filter.map { FilterMatcher(try FilterArgument.parse($0)) }
            let stored = try StoredEvents(directory: configuration.journal.directory, disk: SystemDisk())
            let batch: EventBatch?
            if let matcher {
                batch = try stored.last { event, batch in matcher.matches(batch.json(of: event), event.index) }
            } else {
                batch = try stored.event(at: position ?? 0)
            }
            guard let batch, let event = batch.events.first else {
                throw failure(position.map { "there is no event at position \($0) in" } ?? "no event matches in", configuration.journal.directory)
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
        if isRefused { throw Self.endings[1] }
    }

    private func show(_ explanation: EventExplanation) {
        if json {
            print(explanation.json.text)
        } else {
            print(ExplanationText(Paint(isOn: stdoutTakesColour)).render(explanation), terminator: "")
        }
    }

    private func makeExplainer(_ configuration: Configuration, _ earlier: EarlierEvents) -> EventExplainer {
        EventExplainer(configuration, source: source, only: destinations, host: HostName.current, earlier: earlier)
    }

    private func loadConfiguration() throws -> Configuration {
        let loaded = ConfigurationLoader.withStandIns().load(file: file)
        for error in loaded.errors { printError(error.description) }
        guard let configuration = loaded.configuration else { throw Self.endings[2] }
        let names = destinations.map { (Configuration.NamedKind.destination, $0) } + (source.map { [(.source, $0)] } ?? [])
        for case let absence? in names.map({ configuration.absence(of: $0, $1) }) { throw failure("\(absence.message)\nhint: \(absence.hint)") }
        return configuration
    }

    /// Of the events.
    private var path: String { events ?? "-" }

    private func input() throws -> [UInt8] {
        do {
            let file = path == "-" ? try FileDescriptor.duplicate(of: STDIN_FILENO) : try FileDescriptor.open(path, O_RDONLY)
            var text: [UInt8] = []
            while text.count < Self.maximumInput {
                let bytes = try file.read(upTo: 64 << 10)
                if bytes.isEmpty { return text }
                text += bytes
            }
        } catch {
            throw failure("\(error)")
        }
        throw failure("more than \(Self.maximumInput >> 20) MiB of events are not explained at once")
    }

    /// Bytes; explanations are for looking at.
    private static let maximumInput = 64 << 20

    /// Ends the command with exit status 2.
    private func failure(_ words: String...) -> ExitCode {
        printError(words.joined(separator: " "))
        return Self.endings[2]
    }
}
