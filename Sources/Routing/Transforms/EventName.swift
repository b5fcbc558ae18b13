import Events

/// Rewrites the name of a track event, for the transforms that change names. Other kinds have no event name.
struct EventName {
    private let node: Int

    init(_ binding: inout StageBinding) { node = binding.node(IndexedField.event.path) }

    /// Replaces the name.
    /// - Parameter rename: receives the decoded name and whether the event spells it with escapes. Appends the new name
    ///   as a JSON string, or returns false without appending to keep the old name.
    func rewrite(
        _ view: borrowing EventView, _ overlay: inout Overlay,
        _ rename: (_ name: Span<UInt8>, _ isEscaped: Bool, _ output: inout [UInt8]) -> Bool
    ) {
        guard view.index.kind == .track else { return }
        let (slice, isEscaped) = IndexedField.event.slice(in: view.index)
        let type: FieldType = !slice.isPresent ? .missing : isEscaped ? .escapedString : .string
        overlay.rewrite(node, FieldValue(slice: slice, type: type), view) { value, json, output in
            guard value.isString else { return false }
            let name = json.extracting(value.slice.range)
            if value.type == .string { return rename(name, false, &output) }
            var decoded: [UInt8] = []
            return JSONText.unescape(name, into: &decoded) && rename(decoded.span, true, &output)
        }
    }
}
