import DaemonConfiguration
import Routing

/// The configuration's keys as a JSON Schema (2020-12), for editors. It is generated from the declarations that the
/// configuration is read with, so both always agree. A schema cannot express everything: `penstock check` also checks
/// that names exist and filters parse.
package enum ConfigurationSchema {
    /// The schema as JSON text, with a line feed at the end.
    package static var text: String { schema.lines.map { $0 + "\n" }.joined() }

    static var schema: JSONTree {
        guard case .object(let members) = section(Configuration.fields) else { return .object([]) }
        return .object(
            [
                .init("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
                .init("title", .string("Penstock's configuration")),
                .init("description", .string("penstock.yaml, and each file in conf.d beside it")),
            ] + members + [
                .init(
                    "$defs",
                    .object([
                        .init("transform", anyTransform), .init("mapping", MappingSchema.any),
                    ]))
            ])
    }

    private static func section(_ fields: [FieldDescription]) -> JSONTree {
        let known = fields.filter(\.isSupported)
        return .object(
            [
                // A key without a value counts as an empty map.
                .init("type", .list([.string("object"), .string("null")])),
                .init("properties", .object(known.map { .init($0.name, property($0)) })),
            ] + required(known.filter(\.isRequired).map(\.name)) + [.init("additionalProperties", .bool(false))])
    }

    private static func required(_ names: [String]) -> [JSONTree.Member] {
        names.isEmpty ? [] : [.init("required", .list(names.map(JSONTree.string)))]
    }

    private static func property(_ field: FieldDescription) -> JSONTree {
        described(shape(field.type), field.summary, field.defaultText)
    }

    /// Adds a description as the schema's first member.
    static func described(_ schema: JSONTree, _ summary: String, _ defaultText: String?) -> JSONTree {
        guard case .object(let members) = schema else { return schema }
        let sentence = summary + (defaultText.map { "; default: \($0)" } ?? "")
        return .object([.init("description", .string(sentence))] + members)
    }

    private static func shape(_ shape: FieldShape) -> JSONTree {
        switch shape {
        case .text: return SchemaShapes.text
        case .flag: return SchemaShapes.flag
        case .integer(let bounds): return SchemaShapes.integer(bounds)
        case .number(let bounds): return SchemaShapes.number(bounds)
        case .size(let bounds): return SchemaShapes.size(bounds)
        case .duration(let bounds): return SchemaShapes.duration(bounds)
        case .mode: return SchemaShapes.mode
        case .choice(let names): return SchemaShapes.choice(names)
        case .section(let fields): return section(fields)
        case .variants(let variants): return self.variants(variants)
        case .map(let value): return SchemaShapes.map(self.shape(value), orNothing: true)
        case .list(let item): return SchemaShapes.list(self.shape(item), orNothing: true)
        case .filled(let inner): return filled(inner)
        case .either(let shapes): return .object([.init("anyOf", .list(shapes.map(self.shape)))])
        case .transform: return .object([.init("$ref", .string("#/$defs/transform"))])
        case .mapping: return .object([.init("$ref", .string("#/$defs/mapping"))])
        case .anything: return .object([])
        case .unsupported: return .bool(false)
        }
    }

    private static func filled(_ inner: FieldShape) -> JSONTree {
        switch inner {
        case .map(let value): return SchemaShapes.map(shape(value))
        case .list(let item): return SchemaShapes.list(shape(item))
        default:
            guard case .object(let members) = shape(inner) else { return shape(inner) }
            return .object(members + [.init("not", SchemaShapes.typed("null"))])
        }
    }

    /// An object with one transform, and an optional `where`.
    private static var anyTransform: JSONTree {
        guard case .transform(let transforms) = FieldShape.anyTransform else { return .object([]) }
        let properties = transforms.map { transform in
            let example = TransformCatalogue.declaration(of: transform.name).map { "; example: \($0.example)" } ?? ""
            return JSONTree.Member(transform.name, described(shape(transform.type), transform.summary + example, nil))
        }
        let condition = described(SchemaShapes.text, "only for events that match this filter", nil)
        return .object([
            .init("type", .string("object")), .init("properties", .object(properties + [.init("where", condition)])),
            .init("additionalProperties", .bool(false)),
            .init("oneOf", .list(transforms.map { .object(required([$0.name])) })),
        ])
    }

    /// One of several sections. `properties` has the keys of all sections, so that an editor can offer them. `allOf`
    /// then restricts each section to its own keys.
    private static func variants(_ variants: [Variant]) -> JSONTree {
        var seen: Set<String> = []
        // The distinct schemas of a key in the sections that have it.
        var meanings: [String: [JSONTree]] = [:]
        for field in variants.flatMap(\.shared) where field.isSupported {
            let meaning = property(field)
            if meanings[field.name]?.contains(meaning) != true { meanings[field.name, default: []].append(meaning) }
        }
        let ambiguous = Set(meanings.filter { $0.value.count > 1 }.keys)
        let shared = variants.flatMap(\.shared).filter { $0.isSupported && seen.insert($0.name).inserted }
        let own = variants.flatMap(\.own).filter { seen.insert($0.name).inserted }
        let mine = shared.map { field -> JSONTree.Member in
            let choice = described(.object([.init("anyOf", .list(meanings[field.name] ?? []))]), field.summary, nil)
            return JSONTree.Member(field.name, ambiguous.contains(field.name) ? choice : property(field))
        }
        let common =
            mine
            + own.map { .init($0.name, .object([.init("description", .string("see the destination's preset"))])) }
        var keys: Set<String> = []
        return .object([
            .init("type", .string("object")), .init("properties", .object(common)),
            .init("oneOf", .list(variants.filter { keys.insert($0.key).inserted }.map { .object(selects($0)) })),
            .init("allOf", .list(variants.map { rule($0, ambiguous) })),
        ])
    }

    /// Requires one of the keys that select the variant.
    private static func selects(_ variant: Variant) -> [JSONTree.Member] {
        if variant.alternatives.isEmpty { return required([variant.key]) }
        return [.init("anyOf", .list(([variant.key] + variant.alternatives).map { .object(required([$0])) }))]
    }

    /// - Parameter ambiguous: shared keys that have a different schema in another section.
    private static func rule(_ variant: Variant, _ ambiguous: Set<String>) -> JSONTree {
        let fields = variant.own + variant.shared.filter(\.isSupported)
        let names = JSONTree.object([.init("enum", .list(fields.map { JSONTree.string($0.name) }))])
        let isValue = variant.value.map {
            [JSONTree.Member("properties", .object([.init(variant.key, .object([.init("const", .string($0))]))]))]
        }
        let meaning = (variant.own + variant.shared.filter { ambiguous.contains($0.name) }).map {
            JSONTree.Member($0.name, property($0))
        }
        return .object([
            .init("if", .object(selects(variant) + (isValue ?? []))),
            .init(
                "then",
                .object(
                    (meaning.isEmpty ? [] : [.init("properties", .object(meaning))]) + [.init("propertyNames", names)]
                        + required(variant.own.filter(\.isRequired).map(\.name)))),
        ])
    }
}
