import Routing

/// Transforms as a JSON Schema: an object with the name of one, and perhaps a `where`.
enum TransformSchema {
    static var any: JSONTree {
        let known = TransformCatalogue.all
        let properties = known.map { JSONTree.Member($0.name, described($0)) }
        let condition = ConfigurationSchema.described(SchemaShapes.text, "only for events that this filter takes", nil)
        return .object([
            .init("description", .string("one transform, and where: for the events that it is for")),
            .init("type", .string("object")), .init("properties", .object(properties + [.init("where", condition)])),
            .init("additionalProperties", .bool(false)),
            .init("oneOf", .list(known.map { .object([.init("required", .list([.string($0.name)]))]) })),
        ])
    }

    private static func described(_ declaration: TransformDeclaration) -> JSONTree {
        guard case .object(let members) = shape(declaration.shape) else { return .object([]) }
        let text = "\(declaration.summary); such as \(declaration.example)"
        return .object([.init("description", .string(text))] + members)
    }

    static func shape(_ shape: SettingShape) -> JSONTree {
        switch shape {
        case .flag: return SchemaShapes.flag
        case .integer(let bounds): return SchemaShapes.integer(bounds)
        case .number(let bounds): return SchemaShapes.number(bounds)
        case .size(let bounds): return SchemaShapes.size(bounds)
        case .duration: return SchemaShapes.duration
        case .choice(let names): return SchemaShapes.choice(names)
        case .text, .path, .filter: return SchemaShapes.text
        case .script, .secret: return SchemaShapes.string
        case .template: return .object([])
        case .list(let item): return SchemaShapes.list(self.shape(item))
        case .map(_, let value): return SchemaShapes.map(self.shape(value))
        case .record(let settings, let shorthand):
            let record = self.record(settings)
            guard let short = settings.first(where: { $0.name == shorthand }) else { return record }
            return .object([.init("anyOf", .list([self.shape(short.shape), record]))])
        }
    }

    private static func record(_ settings: [SettingDescription]) -> JSONTree {
        let required = settings.filter(\.isRequired).map { JSONTree.string($0.name) }
        return .object(
            [
                .init("type", .list([.string("object"), .string("null")])),
                .init(
                    "properties",
                    .object(
                        settings.map { .init($0.name, ConfigurationSchema.described(shape($0.shape), $0.summary, $0.defaultText)) })),
            ] + (required.isEmpty ? [] : [.init("required", .list(required))])
                + [.init("additionalProperties", .bool(false))])
    }
}
