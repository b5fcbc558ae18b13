import DaemonConfiguration
import Testing

/// A key of the configuration whose values have bounds, and a way to write a configuration that contains it. The keys
/// come from the declarations that the loader uses, so new keys are included automatically.
struct BoundedKey: Sendable, CustomTestStringConvertible {
    var path: [String]
    var shape: FieldShape
    /// The whole configuration, with this text as the key's value.
    var document: @Sendable (String) -> String
    var testDescription: String { path.joined(separator: ".") }

    static var all: [BoundedKey] {
        var tree = ConfigurationTree()
        tree.walk(Configuration.fields)
        return tree.found
    }
}

private struct ConfigurationTree {
    /// Wraps a value in the configuration around it.
    typealias Frame = @Sendable (String) -> String

    private(set) var found: [BoundedKey] = []
    /// Keys that occur at several places, such as transforms, are tried at one of them.
    private var seen: Set<String> = []
    private static let whole = [
        "sources": "{ apps: { socket: /run/s } }", "routes": "[ { to: [out] } ]",
        "destinations": "{ out: { file: /d/out } }",
    ]

    mutating func walk(_ fields: [FieldDescription]) {
        // A source's `scrub` takes only some of the pipeline's transforms.
        for field in fields.sorted(by: { ($0.name == "sources" ? 1 : 0) < ($1.name == "sources" ? 1 : 0) }) {
            walk(field.type, [field.name], siblings: fields) { value in
                var document = Self.whole
                document[field.name] = value
                return document.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\n" }.joined()
            }
        }
    }

    private mutating func walk(
        _ shape: FieldShape, _ path: [String], siblings: [FieldDescription], _ frame: @escaping Frame
    ) {
        switch shape {
        case .integer, .number, .size, .duration, .mode:
            let place = "\(path.last ?? "") \(shape) \(siblings.map(\.name))"
            if seen.insert(place).inserted { found.append(BoundedKey(path: path, shape: shape, document: frame)) }
        case .section(let fields): walk(fields, path, around: [], frame)
        case .variants(let variants):
            // One preset represents all presets.
            var keys: Set<String> = []
            for variant in variants where keys.insert(variant.key).inserted {
                let key = variant.shared.first { $0.name == variant.key }
                let value = variant.value ?? key.map { Self.example($0.type) } ?? "x"
                let fields = variant.own + variant.shared
                let needed = fields.filter { $0.isRequired && $0.name != variant.key }
                walk(
                    fields, path,
                    around: ["\(variant.key): \(value)"] + needed.map { "\($0.name): \(Self.example($0.type))" }, frame)
            }
        case .map(let inner):
            let name = path == ["destinations"] ? "out" : "apps"
            walk(inner, path + ["*"], siblings: siblings) { frame("{ \(name): \($0) }") }
        case .list(let inner): walk(inner, path, siblings: siblings) { frame("[ \($0) ]") }
        case .filled(let inner): walk(inner, path, siblings: siblings, frame)
        case .either(let shapes): for shape in shapes { walk(shape, path, siblings: siblings, frame) }
        case .transform(let fields):
            for field in fields {
                walk(field.type, path + [field.name], siblings: fields) { frame("{ \(field.name): \($0) }") }
            }
        case .text, .flag, .choice, .mapping, .anything, .unsupported: break
        }
    }

    private mutating func walk(
        _ fields: [FieldDescription], _ path: [String], around: [String], _ frame: @escaping Frame
    ) {
        let given = Set(around.map { String($0.prefix { $0 != ":" }) })
        for field in fields where field.isSupported {
            let needed = fields.filter { $0.isRequired && $0.name != field.name && !given.contains($0.name) }
            let others =
                around.filter { !$0.hasPrefix(field.name + ":") }
                + needed.map { "\($0.name): \(Self.example($0.type))" }
            walk(field.type, path + [field.name], siblings: fields) { value in
                frame("{ " + (others + ["\(field.name): \(value)"]).joined(separator: ", ") + " }")
            }
        }
    }

    /// A valid value of this shape.
    private static func example(_ shape: FieldShape) -> String {
        switch shape {
        case .text("a path"): "/d/x"
        case .text("the path of a field"): "properties.x"
        case .text("a URL"): "\"http://127.0.0.1:9/in\""
        case .text("a filter"): "true"
        case .text("a text in Lua"): "\"function transform(event) return event end\""
        case .text("!secret NAME"): "!secret name"
        case .text, .anything, .unsupported: "x"
        case .flag: "true"
        case .integer(let bounds): "\(bounds.lowerBound)"
        case .number(let bounds): "\(bounds.lowerBound)"
        case .size(let bounds): "\(bounds.lowerBound)"
        case .duration(let bounds): "\(bounds.upperBound.components.seconds)s"
        case .mode: "\"0600\""
        case .choice(let names): names.first ?? "x"
        case .section(let fields):
            "{ " + fields.filter(\.isRequired).map { "\($0.name): \(example($0.type))" }.joined(separator: ", ") + " }"
        case .variants: "{ file: /d/out }"
        case .map(let inner): "{ properties.y: \(example(inner)) }"
        case .list(let inner): "[ \(example(inner)) ]"
        case .filled(let inner): example(inner)
        case .either(let shapes): shapes.first.map(example) ?? "x"
        case .transform: "{ drop: [properties.x] }"
        case .mapping: "{ name: $.event }"
        }
    }
}
