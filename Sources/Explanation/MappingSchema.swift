import Routing

/// Mappings as a JSON Schema: values, and objects that may have one directive as their only key.
enum MappingSchema {
    private static let reference = JSONTree.object([.init("$ref", .string("#/$defs/mapping"))])
    /// A name with exactly one leading `$`. Two stand for a member whose name begins with `$`.
    private static let directiveName = "^\\$[^$]"

    static var any: JSONTree {
        let names = Directive.all.map { JSONTree.string($0.name) }
        let noDirective = JSONTree.object([
            .init("propertyNames", .object([.init("not", pattern)]))
        ])
        return .object([
            .init("description", .string("a value, $.path, {{ template }}, or an object with one $directive")),
            .init("properties", .object(Directive.all.map { .init($0.name, described($0)) })),
            .init(
                "propertyNames",
                .object([
                    .init("anyOf", .list([.object([.init("not", pattern)]), .object([.init("enum", .list(names))])]))
                ])),
            .init("additionalProperties", reference), .init("items", reference),
            // A directive must be the only key of its object.
            .init("anyOf", .list([noDirective, .object([.init("maxProperties", .number(1))])])),
        ])
    }

    private static var pattern: JSONTree { .object([.init("pattern", .string(directiveName))]) }

    private static func described(_ directive: Directive) -> JSONTree {
        ConfigurationSchema.described(form(directive.form), directive.summary, nil)
    }

    private static func form(_ form: Directive.Form) -> JSONTree {
        switch form {
        case .value: return reference
        case .literal: return .object([])
        case .text: return SchemaShapes.text
        case .arguments(let arguments, let shorthand):
            let object = object(arguments)
            guard let short = arguments.first(where: { $0.name == shorthand }) else { return object }
            return .object([
                .init("anyOf", .list([object, .object([.init("allOf", .list([shape(short.shape), shortForm]))])]))
            ])
        case .list(let arguments):
            return .object([
                .init("type", .string("array")),
                .init(
                    "prefixItems",
                    .list(
                        arguments.map { ConfigurationSchema.described(shape($0.shape), $0.summary, $0.defaultText) })),
                .init("minItems", .number(arguments.count(where: \.isRequired))),
                .init("maxItems", .number(arguments.count)),
            ])
        }
    }

    /// The shorthand of a directive with one argument: any value but an object, or another directive.
    private static var shortForm: JSONTree {
        .object([
            .init("if", SchemaShapes.typed("object")),
            .init(
                "then",
                .object([
                    .init("minProperties", .number(1)), .init("maxProperties", .number(1)),
                    .init("propertyNames", .object([.init("pattern", .string("^\\$"))])),
                ])),
        ])
    }

    private static func object(_ arguments: [Directive.Argument]) -> JSONTree {
        let required = arguments.filter(\.isRequired).map { JSONTree.string($0.name) }
        return .object(
            [
                .init("type", .string("object")),
                .init(
                    "properties",
                    .object(
                        arguments.map {
                            .init($0.name, ConfigurationSchema.described(shape($0.shape), $0.summary, $0.defaultText))
                        })),
            ] + (required.isEmpty ? [] : [.init("required", .list(required))]) + [
                .init("additionalProperties", .bool(false))
            ])
    }

    private static func shape(_ shape: Directive.Argument.Shape) -> JSONTree {
        switch shape {
        case .value, .inner: return reference
        case .values: return .object([.init("type", .string("array")), .init("items", reference)])
        case .text, .secret: return SchemaShapes.text
        case .flag: return SchemaShapes.flag
        case .integer(let bounds): return SchemaShapes.integer(bounds)
        case .choice(let names): return SchemaShapes.choice(names)
        }
    }
}
