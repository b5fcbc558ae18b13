import Events

/// Builds the index of an edited event, as admission built the first one.
struct EventIndexer {
    private static let type = FieldPath.type
    private static let integrations = FieldPath(["integrations"])

    /// The numbers of the indexed fields' paths.
    private let paths: [Int]
    private let type: Int
    private let integrations: Int

    init(_ table: inout PathTable) {
        paths = IndexedField.allCases.map { table.index(of: $0.path) }
        type = table.index(of: Self.type)
        integrations = table.index(of: Self.integrations)
    }

    /// - Parameter kind: the event's previous kind, for an event whose type is missing or not valid.
    func index(of json: Span<UInt8>, _ fields: EventFields, kind: EventKind) -> EventIndex {
        var index = EventIndex(kind: Self.kind(fields.stored(type, in: json), json) ?? kind)
        for (field, path) in zip(IndexedField.allCases, paths) {
            field.set(fields.stored(path, in: json), in: &index)
        }
        if fields.stored(integrations, in: json).type != .missing { index.flags.insert(.hasIntegrations) }
        return index
    }

    private static func kind(_ value: FieldValue, _ json: Span<UInt8>) -> EventKind? {
        guard value.type == .string else { return nil }
        let name = json.extracting(value.slice.range)
        return EventKind.allCases.first { $0.name.utf8.span.hasBytes(of: name) }
    }
}
