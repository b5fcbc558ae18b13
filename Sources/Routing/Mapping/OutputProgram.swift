import Events

/// One output of a destination: a mapping, and a filter that selects its events.
package struct OutputSetting {
    package var filter: Filter
    /// Written for each event that matches, in addition to other outputs.
    package var isAdditional: Bool
    package var mapping: MappingSetting
    /// Values that the destination itself needs from the event, in addition to the mapped output: the values in a
    /// request's URL, and the text that wraps its events. Written in front of the mapping's output.
    package var envelope: MappingSetting?

    package init(
        _ mapping: MappingSetting, envelope: MappingSetting? = nil, where filter: Filter = .always,
        isAdditional: Bool = false
    ) {
        self.filter = filter
        self.isAdditional = isAdditional
        self.mapping = mapping
        self.envelope = envelope
    }
}

/// Writes a destination's outputs for one event after another: the first output whose filter matches, and every
/// additional one whose filter matches. One thread.
final class OutputProgram {
    /// Ends an envelope. JSON cannot contain this byte, so no event can end an envelope early.
    static let separator: UInt8 = 0

    private struct Output {
        var filter: FilterProgram?
        var isAdditional: Bool
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
                    filter: filter, isAdditional: setting.isAdditional,
                    envelope: setting.envelope.map { MappingProgram($0, journal: journal, &table) },
                    mapping: MappingProgram(setting.mapping, journal: journal, &table)))
        }
        self.outputs = outputs
        only = outputs.count == 1 && outputs[0].filter == nil && outputs[0].envelope == nil ? outputs[0].mapping : nil
        limit = settings.first?.mapping.limit ?? 0
        writesEnvelopes = settings.contains { $0.envelope != nil }
    }

    /// The outputs of one event, in order.
    struct Turn {
        fileprivate var next = 0
        fileprivate var hasMain = false
    }

    /// - Returns: the next output for the event; nil: there are no more.
    func next(_ view: borrowing EventView, _ turn: inout Turn) -> Int? {
        while turn.next < outputs.count {
            let number = turn.next
            turn.next += 1
            let output = outputs[number]
            guard output.isAdditional || !turn.hasMain, output.filter?.matches(view) ?? true else { continue }
            if !output.isAdditional { turn.hasMain = true }
            return number
        }
        return nil
    }

    /// As `MappingProgram.write`, preceded by the envelope and a separator if the output has an envelope.
    func write(
        _ taken: Int, _ view: borrowing EventView, suffix: String = "", into output: inout [UInt8]
    ) -> MappingProgram.Outcome {
        if let only { return only.write(view, suffix: suffix, into: &output) }
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
