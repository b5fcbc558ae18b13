extension Mapping {
    /// A JSON Schema (draft 2020-12) of a mapping. It must be placed at `#/$defs/mapping`, because it refers to itself
    /// by that name.
    package static var schema: JSONValue {
        let member: JSONValue = .object([
            .init("type", .string("object")),
            .init(
                "propertyNames",
                .object([.init("not", .object([.init("enum", .list(Directive.all.map { .string($0.name) }))]))])),
            .init("additionalProperties", reference),
        ])
        let scalar: JSONValue = .object([
            .init("type", .list(["null", "boolean", "number", "string"].map(JSONValue.string))),
            .init(
                "description",
                .string("a constant; text that starts with $. is a path, {{ path }} in a text is replaced by the value")
            ),
        ])
        return .object([.init("anyOf", .list([scalar, list(of: reference)] + Directive.all.map(\.schema) + [member]))])
    }

    fileprivate static let reference = JSONValue.object([.init("$ref", .string("#/$defs/mapping"))])

    fileprivate static func list(of items: JSONValue) -> JSONValue {
        .object([.init("type", .string("array")), .init("items", items)])
    }
}

extension Directive {
    fileprivate var schema: JSONValue {
        .object([
            .init("type", .string("object")), .init("description", .string(summary)),
            .init("required", .list([.string(name)])), .init("properties", .object([.init(name, value)])),
            .init("additionalProperties", .bool(false)),
        ])
    }

    private var value: JSONValue {
        switch form {
        case .value: Mapping.reference
        case .literal: .bool(true)
        case .text: .object([.init("type", .string("string"))])
        case .arguments(let declared, let shorthand):
            if let short = declared.first(where: { $0.name == shorthand }) {
                .object([.init("anyOf", .list([Self.named(declared), short.schema]))])
            } else {
                Self.named(declared)
            }
        case .list(let declared):
            .object([
                .init("type", .string("array")), .init("prefixItems", .list(declared.map(\.schema))),
                .init("minItems", .integer(declared.count(where: \.isRequired))),
                .init("maxItems", .integer(declared.count)),
            ])
        }
    }

    private static func named(_ declared: [Argument]) -> JSONValue {
        .object([
            .init("type", .string("object")),
            .init("properties", .object(declared.map { .init($0.name, $0.schema) })),
            .init("required", .list(declared.filter(\.isRequired).map { .string($0.name) })),
            .init("additionalProperties", .bool(false)),
        ])
    }
}

extension Directive.Argument {
    fileprivate var schema: JSONValue {
        var members: [JSONValue.Member] =
            switch shape {
            case .value, .inner: [.init("$ref", .string("#/$defs/mapping"))]
            case .values: [.init("type", .string("array")), .init("items", Mapping.reference)]
            case .text, .secret: [.init("type", .string("string"))]
            case .flag: [.init("type", .string("boolean"))]
            case .integer(let bounds):
                [
                    .init("type", .string("integer")), .init("minimum", .integer(bounds.lowerBound)),
                    .init("maximum", .integer(bounds.upperBound)),
                ]
            case .choice(let choices): [.init("enum", .list(choices.map(JSONValue.string)))]
            }
        members.append(.init("description", .string(defaultText.map { "\(summary) (\($0))" } ?? summary)))
        return .object(members)
    }
}
