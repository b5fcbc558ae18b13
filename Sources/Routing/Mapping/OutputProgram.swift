import Events

/// One of the things that a destination may make of an event, and of which events.
package struct OutputSetting {
    package var filter: Filter
    package var mapping: MappingSetting
    /// What the destination itself has to know of the event, beside what it passes on: the values in a
    /// request's URL, the text that goes around its events. Written in front of the mapping's output.
    package var envelope: MappingSetting?

    package init(_ mapping: MappingSetting, envelope: MappingSetting? = nil, where filter: Filter = .always) {
        self.filter = filter
        self.mapping = mapping
        self.envelope = envelope
    }
}

/// Writes what a destination gets for one event after the other: by the first of its outputs that takes
/// the event. One thread.
final class OutputProgram {
    /// Ends an envelope. No JSON text holds it, so that no event can end one before its time.
    static let separator: UInt8 = 0

    private struct Output {
        var filter: FilterProgram?
        var envelope: MappingProgram?
        var mapping: MappingProgram
    }

    private let outputs: [Output]
    /// The common case: one for every event, without an envelope.
    private let only: MappingProgram?
    /// Bytes that the output for one event may have.
    let limit: Int
    let writesEnvelopes: Bool

    /// - Parameter journal: the 16 bytes that message ids derive from.
    init(_ settings: [OutputSetting], journal: [UInt8], _ table: inout PathTable) {
        var outputs: [Output] = []
        for setting in settings {
            let filter = setting.filter.expression == .bool(true) ? nil : FilterCompiler.compile(setting.filter.expression, &table)
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

    /// As `MappingProgram.write`; with the envelope and a separator in front, if there is one.
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
