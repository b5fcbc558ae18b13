import Penstock

/// A track that a test expects.
struct ExpectedTrack {
    var name: String
    var properties: [String: PropertyValue]

    init(name: String, properties: [String: PropertyValue]) {
        self.name = name
        self.properties = properties
    }

    /// What an event is when it is recorded; nil, and the test fails, if it cannot be.
    init?(_ event: some AnalyticsEvent, _ place: SourcePlace) {
        let recording = RecordingProvider()
        var options = Analytics.Options()
        options.automaticContext = []
        options.diagnostics = DiagnosticsHandler { place.fail("the expected event cannot be recorded: \($0.message)") }
        Analytics(providers: [recording], options: options).track(event)
        guard let recorded = recording.events.first else { return nil }
        self.init(name: recorded.name, properties: recorded.properties)
    }

    /// - Parameter added: properties that the event may have without their being expected.
    func matches(_ event: RecordedEvent, without added: Set<String>) -> Bool {
        event.name == name && event.properties.filter { !added.contains($0.key) || properties[$0.key] != nil } == properties
    }

    /// The event that has the most in common with this one, and its number; of several the last.
    func nearest(in events: [RecordedEvent]) -> (number: Int, event: RecordedEvent)? {
        let best = events.enumerated().max { (score($0.element), $0.offset) < (score($1.element), $1.offset) }
        return best.flatMap { score($0.element) > 0 ? ($0.offset, $0.element) : nil }
    }

    private func score(_ event: RecordedEvent) -> Int {
        let equal = properties.count { event.properties[$0.key] == $0.value }
        return (event.name == name ? 1000 : 0) + equal
    }
}

/// What differs between expected and recorded properties, a line each.
struct PropertyDifference: CustomStringConvertible {
    private let expected: [String: PropertyValue]
    private let found: [String: PropertyValue]

    init(_ expected: [String: PropertyValue], _ found: [String: PropertyValue]) {
        self.expected = expected
        self.found = found
    }

    /// Lines that begin with `-` are what was expected, with `+` what was found, others are the same.
    var description: String {
        Set(expected.keys).union(found.keys).sorted().flatMap { name -> [String] in
            let (expected, found) = (expected[name], found[name])
            if let expected, expected == found { return ["    \(name): \(expected)"] }
            return [expected.map { "  - \(name): \($0)" }, found.map { "  + \(name): \($0)" }].compactMap { $0 }
        }.joined(separator: "\n")
    }
}
