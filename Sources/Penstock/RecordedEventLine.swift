extension RecordedEvent {
    /// Parses a line that the SDK wrote. Returns nil if the line is not an event.
    package init?(line json: [UInt8], at site: CallSite? = nil) {
        guard case .dictionary(let members) = JSONReader.value(of: json),
            let kind = members["type"]?.string.flatMap(Kind.init)
        else { return nil }
        self.init(kind: kind, consentCategory: .analytics, json: json, at: site)
    }
}
