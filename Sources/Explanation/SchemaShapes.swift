/// Schemas of the scalar types in a configuration.
enum SchemaShapes {
    /// Any scalar, because YAML takes some texts for numbers or booleans.
    static let text = JSONTree.object([.init("type", .list(["string", "number", "boolean"].map(JSONTree.string)))])
    static let flag = typed("boolean")
    static let string = typed("string")
    /// An octal file mode. Without quotes, YAML takes it for a number.
    static let mode = JSONTree.object([
        .init("type", .list([.string("string"), .string("integer")])), .init("pattern", .string("^(0o)?[0-7]{3,4}$")),
    ])
    /// A number with a unit. Zero, if the bounds allow it, needs no unit.
    static func duration(_ bounds: ClosedRange<Duration>) -> JSONTree {
        guard bounds.contains(.zero) else { return pattern("^0*[1-9][0-9]*(us|ms|s|m|h|d)$") }
        return .object([
            .init("anyOf", .list([pattern("^([0-9]+(us|ms|s|m|h|d)|0)$"), .object([.init("const", .number(0))])]))
        ])
    }

    static func integer(_ bounds: ClosedRange<Int>) -> JSONTree {
        .object([
            .init("type", .string("integer")), .init("minimum", .number(bounds.lowerBound)),
            .init("maximum", .number(bounds.upperBound)),
        ])
    }

    /// A number, or a percentage.
    static func number(_ bounds: ClosedRange<Double>) -> JSONTree {
        let number = JSONTree.object([
            .init("type", .string("number")), .init("minimum", .literal("\(bounds.lowerBound)")),
            .init("maximum", .literal("\(bounds.upperBound)")),
        ])
        return .object([.init("anyOf", .list([number, pattern("^[0-9]+(\\.[0-9]+)?%$")]))])
    }

    /// A number of bytes, or a number with a unit.
    static func size(_ bounds: ClosedRange<Int>) -> JSONTree {
        .object([.init("anyOf", .list([integer(bounds), pattern("^[0-9]+(B|KiB|MiB|GiB|TiB|PiB)?$")]))])
    }

    static func choice(_ names: [String]) -> JSONTree { .object([.init("enum", .list(names.map(JSONTree.string)))]) }

    static func list(_ item: JSONTree, orNothing: Bool = false) -> JSONTree {
        .object([type("array", orNothing), .init("items", item)] + (orNothing ? [] : [.init("minItems", .number(1))]))
    }

    static func map(_ value: JSONTree, orNothing: Bool = false) -> JSONTree {
        .object(
            [type("object", orNothing), .init("additionalProperties", value)]
                + (orNothing ? [] : [.init("minProperties", .number(1))]))
    }

    static func typed(_ name: String) -> JSONTree { .object([type(name, false)]) }

    private static func pattern(_ pattern: String) -> JSONTree {
        .object([.init("type", .string("string")), .init("pattern", .string(pattern))])
    }

    private static func type(_ name: String, _ orNothing: Bool) -> JSONTree.Member {
        .init("type", orNothing ? .list([.string(name), .string("null")]) : .string(name))
    }
}
