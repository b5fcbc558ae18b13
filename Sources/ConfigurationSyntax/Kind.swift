import Foundation
import NameSuggestion

/// A type of value: how to read it from YAML, show it and describe it. Reading reports an error at the value and
/// returns nil.
package struct Kind<Value: Sendable>: Sendable {
    private var shape: @Sendable () -> FieldShape
    package var show: @Sendable (Value) -> String?
    /// Takes the key's name, for messages.
    package var read: @Sendable (YAMLNode, String, Diagnostics) -> Value?

    package init(
        _ type: FieldShape, show: @escaping @Sendable (Value) -> String? = { _ in nil },
        read: @escaping @Sendable (YAMLNode, String, Diagnostics) -> Value?
    ) {
        shape = { type }
        self.show = show
        self.read = read
    }

    /// The description of the values. It is made when it is asked for: that of destinations reads every preset.
    package var type: FieldShape { shape() }

    package mutating func describe(_ shape: @escaping @Sendable () -> FieldShape) { self.shape = shape }

    /// A single value made from text.
    /// - Parameters:
    ///   - meant: a suggestion in place of an invalid text; nil: `hint` is shown instead.
    ///   - convert: returns nil for an invalid text, which is reported with `hint`.
    package static func text(
        _ what: String, _ type: FieldShape, hint: String? = nil,
        meant: @escaping @Sendable (String) -> String? = { _ in nil },
        show: @escaping @Sendable (Value) -> String? = { _ in nil },
        convert: @escaping @Sendable (String) -> Value?
    ) -> Kind {
        Kind(type, show: show) { node, key, diagnostics in
            guard let text = plainText(node, key, what, hint: hint, diagnostics) else { return nil }
            if let value = convert(text) { return value }
            diagnostics.error(
                at: node.place, "\(quoted(text)) is not \(what)",
                hint: meant(text).map { "write \(key): \($0)" } ?? hint)
            return nil
        }
    }
}

/// The text of a single value without control characters. Any other node is reported.
package func plainText(
    _ node: YAMLNode, _ key: String, _ what: String, hint: String? = nil, _ diagnostics: Diagnostics
) -> String? {
    if node.scalar?.isReported == true { return nil }
    guard let scalar = node.scalar, !scalar.isSecret else {
        let reason = node.scalar?.isSecret == true ? YAMLScalar.whereSecretsAre : hint
        diagnostics.error(at: node.place, "\(quoted(key)) must be \(what), not \(node.found)", hint: reason)
        return nil
    }
    guard !scalar.isNull, !scalar.text.isEmpty else {
        diagnostics.error(
            at: node.place, "\(quoted(key)) has no value", hint: hint ?? "write \(what), or remove the key")
        return nil
    }
    let scalars = scalar.text.unicodeScalars
    if let control = scalars.enumerated().first(where: { $0.element.properties.generalCategory == .control })?.offset {
        diagnostics.error(
            at: ScalarPlaces.place(of: control, length: 1, in: node), "a control character in \(quoted(key))",
            hint: "remove it")
        return nil
    }
    return scalar.text
}

extension Kind where Value == Int {
    package static func integer(_ bounds: ClosedRange<Int>) -> Kind {
        bounded(
            "a whole number", .integer(bounds), bounds, hint: "a whole number is written 1000, without a unit",
            meant: NearestNumber.whole,
            show: { "\($0)" },
            convert: { YAMLNumber.json($0).flatMap { Int($0) } }
        ).unquoted
    }

    /// In bytes.
    package static func size(_ bounds: ClosedRange<Int>) -> Kind {
        bounded(
            "a size", .size(bounds), bounds, hint: Quantity.sizeHint, show: { Quantity.text($0) },
            convert: { Quantity.size($0, saturating: true) })
    }
}

extension Kind where Value == Duration {
    package static func duration(_ bounds: ClosedRange<Duration>) -> Kind {
        bounded(
            "a duration", .duration(bounds), bounds, hint: Quantity.durationHint, show: { Quantity.text($0) },
            convert: { Quantity.duration($0, saturating: true) })
    }
}

extension Kind where Value: Comparable {
    /// Rejects a number in quotes: it is text to YAML, and to every editor that uses the schema.
    fileprivate var unquoted: Kind {
        Kind(type, show: show) { node, key, diagnostics in
            if let scalar = node.scalar, !scalar.isPlain, !scalar.isSecret, YAMLNumber.json(scalar.text) != nil {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a number; in quotes it is text",
                    hint: "write \(key): \(scalar.text)")
                return nil
            }
            return read(node, key, diagnostics)
        }
    }

    fileprivate static func bounded(
        _ what: String, _ type: FieldShape, _ bounds: ClosedRange<Value>, hint: String?,
        meant: @escaping @Sendable (String) -> String? = { _ in nil },
        show: @escaping @Sendable (Value) -> String, convert: @escaping @Sendable (String) -> Value?
    ) -> Kind where Value: Sendable {
        let unbounded = Kind.text(what, type, hint: hint, meant: meant, show: show, convert: convert)
        return Kind(type, show: show) { node, key, diagnostics in
            guard let value = unbounded.read(node, key, diagnostics) else { return nil }
            guard bounds.contains(value) else {
                diagnostics.error(
                    at: node.place,
                    "\(quoted(key)) must be from \(show(bounds.lowerBound)) to \(show(bounds.upperBound))")
                return nil
            }
            return value
        }
    }
}

extension Kind where Value == Double {
    /// A fraction, or a percentage: `0.1`, `10%`.
    package static func number(_ bounds: ClosedRange<Double>) -> Kind {
        bounded(
            "a number", .number(bounds), bounds, hint: "a number is written 0.5, or 50%", meant: NearestNumber.find,
            show: { "\($0)" },
            convert: { text in
                let isShare = text.hasSuffix("%")
                guard let number = YAMLNumber.json(isShare ? String(text.dropLast()) : text).flatMap(Double.init)
                else { return nil }
                return isShare ? number / 100 : number
            }
        ).unquoted
    }
}

extension Kind where Value == Bool {
    package static var flag: Kind {
        Kind(.flag, show: { "\($0)" }) { node, key, diagnostics in
            if let value = node.scalar?.boolean { return value }
            diagnostics.error(at: node.place, "\(quoted(key)) must be true or false")
            return nil
        }
    }
}

extension Kind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the type's cases.
    package static var choice: Kind {
        let word = Kind<String>.word(of: Value.allCases.map(\.rawValue))
        return Kind(word.type, show: \.rawValue) { node, key, diagnostics in
            word.read(node, key, diagnostics).flatMap(Value.init(rawValue:))
        }
    }
}

extension Kind where Value == String {
    /// One of the given words.
    package static func word(of names: [String]) -> Kind {
        let list = names.joined(separator: ", ")
        return Kind(.choice(names), show: { $0 }) { node, key, diagnostics in
            guard let text = plainText(node, key, "one of \(list)", diagnostics) else { return nil }
            if names.contains(text) { return text }
            let nearest = NearestName.find(text, among: names).map { "did you mean \(quoted($0))?" }
            diagnostics.error(at: node.place, "\(quoted(key)) must be one of \(list)", hint: nearest)
            return nil
        }
    }
}

extension Kind where Value == UInt32 {
    /// Permission bits.
    package static var mode: Kind {
        .text(
            "a file mode", .mode, hint: "a mode is octal: \"0660\"",
            show: { "0" + String($0, radix: 8) }, convert: Quantity.mode)
    }
}

extension Kind where Value == String {
    /// A path, made absolute. A relative path is relative to the file that holds it.
    package static var path: Kind {
        Kind(.text("a path"), show: { $0.isEmpty ? nil : $0 }) { node, key, diagnostics in
            guard let text = plainText(node, key, "a path", diagnostics) else { return nil }
            return absolutePath(text, in: node.file.directory)
        }
    }

    package static func word(_ what: String) -> Kind {
        .text(what, .text(what), show: { $0 }, convert: { $0 })
    }
}

/// Joins the two, and removes `.` and empty components. `..` stays, since it has another meaning after a symbolic link.
package func absolutePath(_ path: String, in directory: String) -> String {
    var whole = path.hasPrefix("/") ? path : directory + "/" + path
    if !whole.hasPrefix("/") { whole = FileManager.default.currentDirectoryPath + "/" + whole }
    return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
}

extension Kind {
    /// A list of values of one kind.
    package static func list<Item: Sendable>(_ item: Kind<Item>, _ what: String) -> Kind where Value == [Item] {
        Kind(.list(of: item.type)) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list of \(what), not \(node.found)",
                    hint: node.scalar.map { "write \(key): [\($0.text)]" })
                return nil
            }
            return items.compactMap { item.read($0, key, diagnostics) }
        }
    }
}
