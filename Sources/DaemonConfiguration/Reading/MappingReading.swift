import Routing

/// A mapping during reading. Its secrets have not been read yet.
struct MappingDraft: Sendable {
    var mapping: Mapping
    /// One for each of `mapping.secrets`.
    var secrets: [SecretTemplate.Piece]
}

extension Kind where Value == MappingDraft {
    static var mapping: Kind { mapping(aroundEvents: false) }

    /// The text around the events of a body.
    static var body: Kind { mapping(aroundEvents: true) }

    /// Returns a substitute for an invalid mapping, so that its secrets are checked too.
    private static func mapping(aroundEvents: Bool) -> Kind {
        Kind(.filled(.mapping)) { node, key, diagnostics in
            guard !node.isNull else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) has no value",
                    hint: "write \(key): { name: $.event }, or remove the key")
                return nil
            }
            var source = MappingSource(diagnostics)
            let reading = Mapping.read(source.value(of: node), aroundEvents: aroundEvents)
            for error in reading.errors {
                let place = SettingReader.place(of: error, in: node)
                if source.unreadable.contains(where: { $0.line == place.line && $0.column == place.column }) {
                    continue
                }
                diagnostics.error(at: place, error.fault.message, hint: error.fault.hint)
            }
            let secrets = reading.secrets.compactMap { name in
                SecretParsing.reference(name, at: node.place(ofSecret: name) ?? node.place, .plain, diagnostics)
            }
            guard
                let mapping = reading.mapping
                    ?? Mapping.read(aroundEvents ? .string(Mapping.events) : .null, aroundEvents: aroundEvents).mapping
            else { return nil }
            return MappingDraft(mapping: mapping, secrets: secrets)
        }
    }
}

/// Converts YAML to the values that a mapping is made of.
struct MappingSource {
    private let diagnostics: Diagnostics
    /// Places of invalid values. They are reported and read as null.
    private(set) var unreadable: [Place] = []

    init(_ diagnostics: Diagnostics) { self.diagnostics = diagnostics }

    mutating func value(of node: YAMLNode) -> MappingValue {
        switch node.content {
        case .map(let entries): return .object(entries.map { .init($0.key, value(of: $0.value)) })
        case .list(let items): return .list(items.map { value(of: $0) })
        case .scalar(let scalar):
            if scalar.isReported {
                unreadable.append(node.place)
                return .null
            }
            if scalar.isSecret { return .secret(scalar.text) }
            if scalar.isNull { return .null }
            if let boolean = scalar.boolean { return .bool(boolean) }
            if let number = JSONRendering.number(scalar) { return .number(number) }
            guard JSONRendering.isBeyondJSON(scalar) else { return .string(scalar.text) }
            diagnostics.error(
                at: node.place, "\(quoted(scalar.text)) has no value in JSON",
                hint: "put it in quotes if it is meant as text")
            unreadable.append(node.place)
            return .null
        }
    }
}

extension YAMLNode {
    /// The place where a mapping first names a secret: as `!secret NAME`, or inside a text.
    fileprivate func place(ofSecret name: String) -> Place? {
        switch content {
        case .map(let entries): return entries.lazy.compactMap { $0.value.place(ofSecret: name) }.first
        case .list(let items): return items.lazy.compactMap { $0.place(ofSecret: name) }.first
        case .scalar(let scalar):
            if scalar.isSecret { return scalar.text == name ? place : nil }
            let wanted = Array("secret.\(name)".unicodeScalars)
            let text = Array(scalar.text.unicodeScalars)
            let starts = text.indices.prefix(max(0, text.count - wanted.count + 1))
            return starts.first { text[$0...].starts(with: wanted) }
                .map { ScalarPlaces.place(of: $0, length: wanted.count, in: self) }
        }
    }
}
