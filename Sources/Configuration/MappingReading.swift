import Routing

/// A mapping while it is read: the secrets that it names are not looked for yet.
struct MappingDraft: Sendable {
    var mapping: Mapping
    /// One for each of `mapping.secrets`.
    var secrets: [SecretTemplate.Piece]
}

extension Kind where Value == MappingDraft {
    static var mapping: Kind {
        mapping { source throws(TransformErrors) in try Mapping(source) }
    }

    /// A text around events.
    static var body: Kind {
        mapping { source throws(TransformErrors) in try Mapping(aroundEvents: source) }
    }

    private static func mapping(_ make: @escaping @Sendable (MappingValue) throws(TransformErrors) -> Mapping) -> Kind {
        Kind(.filled(.mapping)) { node, key, diagnostics in
            guard !node.isNull else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) has no value", hint: "write \(key): { name: $.event }, or remove the key")
                return nil
            }
            guard let source = MappingValue(node, diagnostics) else { return nil }
            do throws(TransformErrors) {
                let mapping = try make(source)
                let secrets = mapping.secrets.compactMap { name in
                    SecretParsing.reference(name, at: node.place(ofSecret: name) ?? node.place, .plain, diagnostics)
                }
                guard secrets.count == mapping.secrets.count else { return nil }
                return MappingDraft(mapping: mapping, secrets: secrets)
            } catch {
                for error in error.errors {
                    diagnostics.error(at: SettingReader.place(of: error, in: node), error.fault.message, hint: error.fault.hint)
                }
                return nil
            }
        }
    }
}

extension MappingValue {
    /// What stands in the file; nil if a part of it means nothing, which is in `diagnostics` then.
    init?(_ node: YAMLNode, _ diagnostics: Diagnostics) {
        switch node.content {
        case .map(let entries):
            let members = entries.compactMap { entry in
                MappingValue(entry.value, diagnostics).map { Member(entry.key, $0) }
            }
            guard members.count == entries.count else { return nil }
            self = .object(members)
        case .list(let items):
            let values = items.compactMap { MappingValue($0, diagnostics) }
            guard values.count == items.count else { return nil }
            self = .list(values)
        case .scalar(let scalar):
            guard !scalar.isReported else { return nil }
            if scalar.isSecret {
                self = .secret(scalar.text)
            } else if scalar.isNull {
                self = .null
            } else if let boolean = scalar.boolean {
                self = .bool(boolean)
            } else if let number = JSONRendering.number(scalar) {
                self = .number(number)
            } else if JSONRendering.isBeyondJSON(scalar) {
                diagnostics.error(
                    at: node.place, "\(quoted(scalar.text)) has no value in JSON",
                    hint: "put it in quotes if it is meant as text")
                return nil
            } else {
                self = .string(scalar.text)
            }
        }
    }
}

extension YAMLNode {
    /// Where a mapping first names a secret: as `!secret NAME`, or inside a text.
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
