/// A key of the configuration as documentation, editors and a JSON Schema want to know it. Made
/// from the same declaration that the parser uses (`Field`).
package struct FieldDescription: Sendable {
    package var name: String
    package var type: FieldShape
    /// As one would write it; nil: none, or it depends.
    package var defaultText: String?
    /// One line.
    package var summary: String
    package var isRequired: Bool
    /// False: the key is known, but this version refuses it.
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
    /// nil: whatever the key's value is.
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
}

package indirect enum FieldShape: Sendable {
    /// What kind of text: "a path", "a filter".
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
    /// One of several sections; the key that each is named for says which, and of those with a `value` that
    /// the key has it.
    case variants([Variant])
    /// Names of the user's, each with a value of this type.
    case map(of: FieldShape)
    case list(of: FieldShape)
    /// A value has to be there; in a list or a map, one at least.
    case filled(FieldShape)
    /// One of several.
    case either([FieldShape])
    /// A map with one of these keys, and perhaps `where`.
    case transform([FieldDescription])
    /// What Routing's `Directive`s make up.
    case mapping
    case anything
    /// Of a key that this version refuses.
    case unsupported
}
