import Routing

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
}

/// One of several sections that a map may be.
package struct Variant: Sendable {
    package var key: String
    /// nil: whatever the key's value is.
    package var value: String?
    /// Keys that may mean something else in another section.
    package var own: [FieldDescription] = []
    package var shared: [FieldDescription]
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

extension FieldShape {
    /// As Routing declares it.
    init(_ shape: SettingShape) {
        switch shape {
        case .flag: self = .flag
        case .integer(let bounds): self = .integer(bounds)
        case .number(let bounds): self = .number(bounds)
        case .size(let bounds): self = .size(bounds)
        case .duration(let bounds): self = .duration(bounds)
        case .choice(let names): self = .choice(names)
        case .text(let what): self = .text(what)
        case .script(let language): self = .text("a text in \(language)")
        case .path: self = .text("the path of a field")
        case .filter: self = .text("a filter")
        case .template: self = .anything
        case .secret: self = .text("!secret NAME")
        case .list(let item): self = .list(of: FieldShape(item))
        case .map(_, let value): self = .map(of: FieldShape(value))
        case .record(let settings, let shorthand):
            let section = FieldShape.section(settings.map(FieldDescription.init))
            let short = settings.first { $0.name == shorthand }.map { FieldShape($0.shape) }
            self = short.map { .either([$0, section]) } ?? section
        }
    }

    /// Every transform that there is.
    package static var anyTransform: FieldShape { .transform(TransformCatalogue.all.map(FieldDescription.init)) }
}

extension FieldDescription {
    init(_ setting: SettingDescription) {
        self.init(
            name: setting.name, type: FieldShape(setting.shape), defaultText: setting.defaultText,
            summary: setting.summary, isRequired: setting.isRequired, isSupported: true)
    }

    init(_ transform: TransformDeclaration) {
        self.init(
            name: transform.name, type: FieldShape(transform.shape), defaultText: nil, summary: transform.summary,
            isRequired: false, isSupported: true)
    }
}
