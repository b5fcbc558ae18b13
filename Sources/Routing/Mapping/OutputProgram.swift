import Events

/// One output of a destination: a mapping, and a filter that selects its events.
package struct OutputSetting {
    package var filter: Filter
    package var mapping: MappingSetting
    /// Values that the destination itself needs from the event, in addition to the mapped output: the values in a
    /// request's URL, and the text that wraps its events. Written in front of the mapping's output.
    package var envelope: MappingSetting?

    package init(_ mapping: MappingSetting, envelope: MappingSetting? = nil, where filter: Filter = .always) {
        self.filter = filter
        self.mapping = mapping
        self.envelope = envelope
    }
}

/// Writes a destination's output for one event after another, using the first output whose filter matches. One thread.
final class OutputProgram {
    /// Ends an envelope. JSON cannot contain this byte, so no event can end an envelope early.
    static let separator: UInt8 = 0

    private struct Output {
        var filter: FilterProgram?
        var envelope: MappingProgram?
        var mapping: MappingProgram
    }

    private let outputs: [Output]
    /// Set in the common case: a single output without a filter or an envelope.
    private let only: MappingProgram?
    /// Maximum size of the output for one event, in bytes.
    let limit: Int
    let writesEnvelopes: Bool

    /// - Parameter journal: the 16 bytes from which message ids are derived.
    init(_ settings: [OutputSetting], journal: [UInt8], _ table: inout PathTable) {
        var outputs: [Output] = []
        for setting in settings {
            let filter =
                setting.filter.expression == .bool(true)
                ? nil : FilterCompiler.compile(setting.filter.expression, &table)
            outputs.append(
                Output(
                    filter: filter, envelope: setting.envelope.map { MappingProgram($0, journal: journal, &table) },
                    mapping: MappingProgram(setting.mapping, journal: journal, &table)))
        }
        self.outputs = outputs
        only = outputs.count == 1 && outputs[0].filter == nil && outputs[0].envelope == nil ? outputs[0].mapping : nil
        limit = settings.first?.mapping.limit ?? 0
        writesEnvelopes = settings.contains { $0.envelope != nil }
    }

    /// As `MappingProgram.write`, preceded by the envelope and a separator if the output has an envelope.
    func write(_ view: borrowing EventView, suffix: String = "", into output: inout [UInt8]) -> MappingProgram.Outcome {
        if let only { return only.write(view, suffix: suffix, into: &output) }
        guard let taken = outputs.firstIndex(where: { $0.filter?.matches(view) ?? true }) else { return .nothing }
        let start = output.count
        if let envelope = outputs[taken].envelope {
            let outcome = envelope.write(view, suffix: suffix, into: &output)
            guard case .written = outcome else { return outcome }
            output.append(Self.separator)
        }
        let outcome = outputs[taken].mapping.write(view, suffix: suffix, into: &output)
        if case .written = outcome { return outcome }
        output.removeLast(output.count - start)
        return outcome
    }
}
