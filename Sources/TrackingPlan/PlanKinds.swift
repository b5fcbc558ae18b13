import ConfigurationSyntax

// Kinds of values that only plans have.

extension Kind where Value == [PropertyDraft] {
    static var properties: Kind {
        Kind(.map(of: .anything)) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map of names, not \(node.found)",
                    hint: "write a name, a colon, and a type: total: number")
                return nil
            }
            return entries.compactMap { entry in
                guard isName(entry, of: "a property", diagnostics),
                    let rule = Kind<ValueDraft>.value("property \(quoted(entry.key))").read(
                        entry.value, entry.key, diagnostics)
                else { return nil }
                return PropertyDraft(name: entry.key, place: entry.place, rule: rule)
            }
        }
    }
}

extension Kind where Value == [ValueDraft] {
    /// Reads the value of `items`.
    static var item: Kind {
        Kind(.anything) { node, key, diagnostics in
            if let required = node.entries?.first(where: { $0.key == "required" }) {
                diagnostics.error(at: required.place, "items cannot be required", hint: "remove required")
            }
            return Kind<ValueDraft>.value(quoted(key)).read(node, key, diagnostics).map { [$0] }
        }
    }
}

extension Kind where Value == ValueDraft.NumberDraft {
    static var number: Kind {
        Kind(.text("a number")) { node, key, diagnostics in
            guard let scalar = node.scalar, let text = ValueDraft.number(scalar), Double(text).map(\.isFinite) ?? false
            else {
                diagnostics.error(at: node.place, "\(quoted(key)) must be a number")
                return nil
            }
            return .init(text: text, place: node.place)
        }
    }
}

extension Kind where Value == TrackingPlan.Pattern {
    static var pattern: Kind {
        Kind(.text("a regular expression")) { node, key, diagnostics in
            plainText(node, key, "a regular expression", diagnostics).map { .init(text: $0, node: node) }
        }
    }
}

extension Kind where Value == YAMLNode {
    static var node: Kind { Kind(.anything) { node, _, _ in node } }
}

extension Kind where Value == String {
    /// Text for people, with any number of lines.
    static var prose: Kind {
        Kind(.text("a text"), show: { $0 }) { node, key, diagnostics in
            if node.scalar?.isReported == true { return nil }
            guard let scalar = node.scalar, !scalar.isSecret, !scalar.isNull else {
                diagnostics.error(at: node.place, "\(quoted(key)) must be a text, not \(node.found)")
                return nil
            }
            return scalar.text
        }
    }
}

extension Kind where Value == TrackingPlan.Deprecation {
    static var deprecation: Kind {
        Kind(.either([.flag, .text("what to use instead")])) { node, key, diagnostics in
            if let flag = node.scalar?.boolean { return flag ? .init(message: nil) : nil }
            return plainText(node, key, "true, or what to use instead", diagnostics).map { .init(message: $0) }
        }
    }
}

extension Kind where Value == TrackingPlan.Named {
    /// A name from which a Swift name can be made: it has at least one letter.
    static var swiftName: Kind {
        Kind(.text("a name"), show: \.name) { node, key, diagnostics in
            guard let text = plainText(node, key, "a name", diagnostics) else { return nil }
            guard text.contains(where: { $0.isASCII && $0.isLetter }), text.utf8.count <= 64 else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must have at least one letter from A to Z and at most 64 bytes")
                return nil
            }
            return .init(name: text, place: node.place)
        }
    }
}
