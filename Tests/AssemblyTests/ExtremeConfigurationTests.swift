import DaemonConfiguration
import Destinations
import Events
import Ingest
import Journal
import Platform
import TestSupport
import Testing

@testable import Assembly
@testable import Delivery

/// Every key of the configuration that has bounds, with values at the ends of its type and of its bounds. Each is
/// either rejected with its bounds, or the daemon can be built from it.
@Suite struct ExtremeConfigurationTests {
    private func load(_ text: String) -> LoadResult {
        ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true).load(
            text: text, named: "/etc/penstock/p.yaml")
    }

    @Test func `the keys with bounds are found in their declarations`() {
        let keys = Set(BoundedKey.all.map(\.testDescription))
        let known = [
            "journal.retain.time", "journal.segment_size", "sources.*.mode", "sources.*.max_event_size",
            "destinations.*.retry.max",
            "destinations.*.batch.events", "destinations.*.deadline", "destinations.*.timeout",
            "destinations.*.keep.size",
        ]
        #expect(keys.isSuperset(of: known), "\(keys.sorted())")
        for name in ["throttle.every", "sample.share", "mask.show", "limits.oldest", "answers.wait"] {
            #expect(keys.contains { $0.hasSuffix(name) }, "\(name) of \(keys.sorted())")
        }
    }

    @Test(arguments: BoundedKey.all)
    func `no value of a key crashes, and one outside its bounds is rejected with them`(key: BoundedKey) throws {
        let ends = BoundTexts(key.shape)
        for text in ends.extremes {
            let loaded = load(key.document(text.isEmpty ? "\"\"" : text))
            #expect(loaded.configuration != nil || !loaded.errors.isEmpty)
            if let configuration = loaded.configuration { build(configuration) }
        }
        for text in ends.inside {
            let loaded = load(key.document(text))
            let errors = loaded.errors.map(\.message)
            #expect(!errors.contains { $0.contains("must be") && $0.contains("from ") }, "\(text): \(errors)")
            if let configuration = loaded.configuration { build(configuration) }
        }
        for text in ends.outside {
            let errors = load(key.document(text)).errors.map(\.message)
            // A value beyond every type is reported as not a number or not a duration.
            #expect(errors.contains { $0.contains("from ") || $0.contains("is not ") }, "\(text): \(errors)")
        }
    }

    /// Builds what the daemon builds before it touches a disk or a socket, and routes one event through it.
    private func build(_ configuration: Configuration) {
        _ = JournalOptions(configuration.journal)
        for source in configuration.sources { _ = SourceLimits(source) }
        for destination in configuration.destinations {
            PolicyRun(DeliveryPolicy(destination, cursorInterval: destination.cursorInterval(in: configuration))).run()
            switch destination.kind {
            case .http(let http): _ = HTTPDestination.problems(HTTPOptions(http, inFlight: destination.inFlight))
            case .file(let file): _ = FileDestinationOptions(file)
            case .plugin: break
            }
            for verdict in RoutedText(destination, configuration).route([Self.event]) { #expect(!verdict.isEmpty) }
        }
    }

    private static let event =
        #"{"type":"track","event":"E","userId":"u","messageId":"m","timestamp":"9999-12-31T23:59:59Z","properties":{"x":"12345","y":1e400}}"#
}

/// The values at a key's bounds, and values just outside them.
private struct BoundTexts {
    /// Extremes of the key's kind, and some of other kinds.
    var extremes = Extremes.integers + Extremes.words
    var inside: [String] = []
    var outside: [String] = []

    init(_ shape: FieldShape) {
        switch shape {
        case .integer(let bounds):
            set(bounds)
            extremes += Extremes.fractions
        case .size(let bounds):
            set(bounds)
            extremes += Extremes.sizes
            outside += ["9223372036854775807PiB", "8388608TiB"]
        case .number(let bounds):
            extremes += Extremes.fractions
            inside = ["\(bounds.lowerBound)", "\(bounds.upperBound)"]
            outside = ["\(bounds.lowerBound - 1)", "\(bounds.upperBound + 1)", "1e400", "-1e400"]
        case .duration(let bounds):
            func text(_ duration: Duration) -> String {
                let (seconds, attoseconds) = duration.components
                return attoseconds == 0 ? "\(seconds)s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
            }
            extremes += Extremes.durations
            inside = [text(bounds.lowerBound), text(bounds.upperBound)]
            outside = [text(bounds.upperBound + .milliseconds(1)), "9223372036854ms", "9223372036854775807d"]
            if bounds.lowerBound > .zero { outside.append(text(bounds.lowerBound - .milliseconds(1))) }
        case .mode:
            inside = ["\"0000\"", "\"0777\""]
            outside = ["\"1777\"", "\"07777\"", "\"-777\"", "37777777777"]
        default: break
        }
    }

    private mutating func set(_ bounds: ClosedRange<Int>) {
        inside = ["\(bounds.lowerBound)", "\(bounds.upperBound)"]
        outside = ["9223372036854775807", "9223372036854775808", "99999999999999999999"].filter {
            Int($0).map { !bounds.contains($0) } ?? true
        }
        if bounds.lowerBound > 0 { outside.append("\(bounds.lowerBound - 1)") }
        if bounds.upperBound < .max { outside.append("\(bounds.upperBound + 1)") }
    }
}
