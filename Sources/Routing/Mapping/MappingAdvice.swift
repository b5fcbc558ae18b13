import Events

extension Mapping {
    /// Warns about valid parts of a mapping that are probably mistakes: paths of unknown fields, and `@path` instead of
    /// `$path`.
    package static func advice(
        on source: MappingValue, aroundEvents: Bool = false, fields: FieldAdvice
    ) -> [TransformError] {
        let compiler = MappingCompiler(aroundEvents: aroundEvents)
        _ = compiler.compile(source, at: [])
        func errors(_ texts: [(text: String, keys: [String])], _ advice: (String) -> [FilterError]) -> [TransformError]
        {
            texts.flatMap { text, keys in advice(text).map { TransformError(keys: keys, isKey: false, fault: $0) } }
        }
        return errors(compiler.paths) { fields.value($0, secrets: true) }
            + errors(compiler.templates) { fields.template($0, secrets: true) + (fields.slip($0).map { [$0] } ?? []) }
            + compiler.foreignDirectives.map { Directive.foreign(at: $0, isMapping: true) }
    }
}

extension ValueTemplate {
    /// Warns about probable mistakes in a value that a transform writes.
    package static func advice(on value: JSONValue, fields: FieldAdvice, at keys: [String] = []) -> [TransformError] {
        switch value {
        case .null, .bool, .number: return []
        case .string(let text):
            return fields.value(text, secrets: false).map { TransformError(keys: keys, isKey: false, fault: $0) }
        case .list(let items):
            return items.enumerated().flatMap { advice(on: $0.element, fields: fields, at: keys + ["\($0.offset)"]) }
        case .object(let members):
            if members.count == 1, members[0].name == "$literal" { return [] }
            let isForeign = members.count == 1 && Directive.isForeign(members[0].name)
            return (isForeign ? [Directive.foreign(at: keys + [members[0].name], isMapping: false)] : [])
                + members.flatMap { advice(on: $0.value, fields: fields, at: keys + [$0.name]) }
        }
    }
}

extension Directive {
    /// - Parameter isMapping: whether directives are allowed at this place.
    fileprivate static func foreign(at keys: [String], isMapping: Bool) -> TransformError {
        let name = keys.last ?? ""
        let hint =
            !isMapping
            ? "write $.PATH, or a text that contains {{ PATH }}; "
                + "directives begin with $ and are allowed in mapping: only"
            : name == "@liquid"
                ? "use $template, $match, $replace and $date"
                : "write $\(name.dropFirst()); Mapping.md lists the other differences from mapping-kit"
        return TransformError(
            keys, isKey: true, "\(name) is not a directive here; it is the name of a member", hint: hint)
    }
}
