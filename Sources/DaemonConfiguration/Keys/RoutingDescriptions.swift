// Describes Routing's declarations as keys of a configuration.

import ConfigurationSyntax
import Routing

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
        case .list(let item): self = .filled(.list(of: FieldShape(item)))
        case .map(_, let value): self = .filled(.map(of: FieldShape(value)))
        case .record(let settings, let shorthand):
            let keys = FieldShape.section(settings.map(FieldDescription.init))
            let section = settings.contains(where: \.isRequired) ? .filled(keys) : keys
            let short = settings.first { $0.name == shorthand }.map { FieldShape($0.shape) }
            self = short.map { .either([$0, section]) } ?? section
        }
    }

    /// Every transform.
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
