extension RecordedEvent {
    /// An event from its line, as the SDK wrote it; nil for what is none.
    package init?(line json: [UInt8]) {
        guard case .object(let members) = JSONReader.value(of: json), let kind = members["type"]?.string.flatMap(Kind.init) else { return nil }
        self.init(kind: kind, consentCategory: .analytics, json: json)
    }
}
