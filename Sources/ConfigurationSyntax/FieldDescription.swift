/// A description of a key, for documentation, editors and a JSON Schema. It is made from the declaration that the
/// parser uses (`Field`).
package struct FieldDescription: Sendable {
    package var name: String
    package var type: FieldShape
    /// As a user would write it; nil: no fixed default.
    package var defaultText: String?
    /// One line.
    package var summary: String
    package var isRequired: Bool
    /// False: the key is known, but this version rejects it.
    package var isSupported: Bool

    package init(
        name: String, type: FieldShape, defaultText: String?, summary: String, isRequired: Bool, isSupported: Bool
    ) {
        self.name = name
        self.type = type
        self.defaultText = defaultText
        self.summary = summary
        self.isRequired = isRequired
        self.isSupported = isSupported
    }
}

/// One of several sections that a map may be.
package struct Variant: Sendable {
    package var key: String
    /// Further keys that select it, alone or together with `key`.
    package var alternatives: [String] = []
    /// nil: any value.
    package var value: String?
    /// Keys that may mean something else in another section.
    package var own: [FieldDescription]
    package var shared: [FieldDescription]

    package init(key: String, value: String? = nil, own: [FieldDescription] = [], shared: [FieldDescription]) {
        self.key = key
        self.value = value
        self.own = own
        self.shared = shared
    }

    /// - Parameter keys: at least one.
    package init(keys: [String], shared: [FieldDescription]) {
        self.init(key: keys[0], shared: shared)
        alternatives = Array(keys.dropFirst())
    }
}

package indirect enum FieldShape: Sendable {
    /// The kind of text: "a path", "a filter".
    case text(String)
    case flag
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    case size(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    /// A file's permission bits in octal.
    case mode
    case choice([String])
    case section([FieldDescription])
    /// One of several sections. The key that a variant names selects it; a variant with a `value` also requires that
    /// the key has this value.
    case variants([Variant])
    /// User-defined names, each with a value of this type.
    case map(of: FieldShape)
    case list(of: FieldShape)
    /// A value is required; a list or map needs at least one element.
    case filled(FieldShape)
    /// One of several shapes.
    case either([FieldShape])
    /// A map with one of these keys, and optionally `where`.
    case transform([FieldDescription])
    /// A mapping: values, paths and Routing's `Directive`s.
    case mapping
    case anything
    /// A key that this version rejects.
    case unsupported
}
