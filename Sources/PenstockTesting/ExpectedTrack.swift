import Penstock

/// A track that a test expects.
struct ExpectedTrack {
    var name: String
    var properties: [String: PropertyValue]

    init(name: String, properties: [String: PropertyValue]) {
        self.name = name
        self.properties = properties
    }

    /// A recorded track.
    init(_ event: RecordedEvent) { self.init(name: event.name, properties: event.properties) }

    /// Records the event to find its name and properties. If it cannot be recorded, the test fails and this returns
    /// nil.
    init?(_ event: some AnalyticsEvent, _ place: SourcePlace) {
        let recording = RecordingProvider()
        var options = Analytics.Options()
        options.automaticContext = []
        options.diagnostics = DiagnosticsHandler { place.fail("the expected event cannot be recorded: \($0.message)") }
        Analytics(providers: [recording], options: options).track(event)
        guard let recorded = recording.events.first else { return nil }
        self.init(name: recorded.name, properties: recorded.properties)
    }

    /// - Parameter added: The names of properties that the event may have although they are not expected.
    func matches(_ event: RecordedEvent, without added: Set<String>) -> Bool {
        event.name == name
            && event.properties.filter { !added.contains($0.key) || properties[$0.key] != nil } == properties
    }

    /// The difference from a recorded track, line by line.
    func difference(from event: RecordedEvent, without added: Set<String>) -> String {
        guard event.name == name else { return "  - \(self)\n  + \(ExpectedTrack(event))" }
        let others = event.properties.filter { !added.contains($0.key) || properties[$0.key] != nil }
        return "    \"\(name)\"\n" + PropertyDifference(properties, others).description
    }

    /// Returns the most similar event and its index; the last one if several are equally similar.
    func nearest(in events: [RecordedEvent]) -> (number: Int, event: RecordedEvent)? {
        let best = events.enumerated().max { (score($0.element), $0.offset) < (score($1.element), $1.offset) }
        return best.flatMap { score($0.element) > 0 ? ($0.offset, $0.element) : nil }
    }

    private func score(_ event: RecordedEvent) -> Int {
        let equal = properties.count { event.properties[$0.key] == $0.value }
        return (event.name == name ? 1000 : 0) + equal
    }
}

extension ExpectedTrack: CustomStringConvertible {
    /// The name and the properties as JSON.
    var description: String { "\"\(name)\" \(PropertyValue.dictionary(properties))" }
}

/// The differences between expected and recorded properties, one line for each property.
struct PropertyDifference: CustomStringConvertible {
    private let expected: [String: PropertyValue]
    private let found: [String: PropertyValue]

    init(_ expected: [String: PropertyValue], _ found: [String: PropertyValue]) {
        self.expected = expected
        self.found = found
    }

    /// Lines with `-` show the expected value, lines with `+` the recorded one. All other lines are equal.
    var description: String {
        Set(expected.keys).union(found.keys).sorted().flatMap { name -> [String] in
            let (expected, found) = (expected[name], found[name])
            if let expected, expected == found { return ["    \(name): \(expected)"] }
            return [expected.map { "  - \(name): \($0)" }, found.map { "  + \(name): \($0)" }].compactMap { $0 }
        }.joined(separator: "\n")
    }
}
