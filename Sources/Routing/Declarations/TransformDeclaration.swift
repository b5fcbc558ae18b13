/// Declares one kind of transform: its name, the shape of its value, and its purpose. Configurations are read and
/// checked by this declaration, and the documentation and the JSON Schema come from it. No other code distinguishes one
/// transform from another.
package struct TransformDeclaration: Sendable {
    package let name: String
    /// One line.
    package let summary: String
    /// An example, as it is written in a `transforms:` list.
    package let example: String
    package let shape: SettingShape
    let make: @Sendable (SettingValue) -> any TransformDefinition

    /// Makes the transform for a value of `shape`.
    /// - Throws: faults that the shape cannot express, each with the keys of the value that lead to it.
    package func transform(_ value: SettingValue, where condition: Filter = .always) throws(TransformErrors)
        -> Transform
    {
        let definition = make(value)
        let errors = definition.check()
        guard errors.isEmpty else { throw TransformErrors(errors: errors) }
        return Transform(name: name, definition: definition, condition: condition)
    }

    /// Warnings about probable mistakes in a value that `transform` accepts.
    package func advice(_ value: SettingValue) -> [TransformError] { make(value).advice() }

    /// A transform with keys: `hash: { paths: [userId], key: !secret pii }`.
    /// - Parameters:
    ///   - prototype: holds the defaults.
    ///   - shorthand: the key that a value stands for if it is not a map: `hash: [userId]`.
    static func keys<Definition: TransformDefinition>(
        _ name: String, _ prototype: Definition, shorthand: String? = nil, _ settings: [Setting<Definition>],
        example: String, _ summary: String
    ) -> TransformDeclaration {
        TransformDeclaration(
            name: name, summary: summary, example: example,
            shape: .record(settings.map { $0.describe(prototype) }, shorthand: shorthand),
            make: { value in
                var definition = prototype
                guard case .record(let values) = value else { return definition }
                for setting in settings {
                    if let value = values[setting.name] { setting.assign(value, &definition) }
                }
                return definition
            })
    }

    /// A transform that consists of one value: `rename: { properties.revenue: amount }`.
    static func value<Definition: TransformDefinition, Value>(
        _ name: String, _ prototype: Definition, _ path: any WritableKeyPath<Definition, Value> & Sendable,
        _ type: SettingType<Value>, example: String, _ summary: String
    ) -> TransformDeclaration {
        TransformDeclaration(
            name: name, summary: summary, example: example, shape: type.shape,
            make: { value in
                var definition = prototype
                if let value = type.decode(value) { definition[keyPath: path] = value }
                return definition
            })
    }
}

/// All kinds of transforms.
package enum TransformCatalogue {
    package static let all: [TransformDeclaration] = [
        KeepTransform.declaration, DropTransform.declaration, RenameTransform.declaration, SetTransform.declaration,
        CopyTransform.declaration, MoveTransform.declaration, ToStringTransform.declaration,
        ToNumberTransform.declaration, HashTransform.declaration, MaskTransform.declaration,
        RedactTransform.declaration, SampleTransform.declaration, ThrottleTransform.declaration,
        DedupeTransform.declaration, NameCaseTransform.declaration, RenameEventsTransform.declaration,
        FlattenTransform.declaration, EnrichTransform.declaration, TimedTransform.declaration,
        SessionTransform.declaration, UnnestTransform.declaration, RejectTransform.declaration,
        ScriptTransform.declaration,
    ]

    package static func declaration(of name: String) -> TransformDeclaration? { all.first { $0.name == name } }
}
