// Directives that determine how a value is read. Without one, text that starts with `$.` is a path and text that
// contains `{{` is a template.

extension Directive {
    static let path = Directive("$path", taking: .text, "the value at a path; $ is the whole event") {
        value, keys, compiler in
        text(value, "$path", keys, compiler).flatMap { compiler.path($0, at: keys) }
    }

    static let template = Directive(
        "$template", taking: .text, "a text in which each {{ path }} is replaced by the value"
    ) {
        value, keys, compiler in
        text(value, "$template", keys, compiler).flatMap { compiler.template($0, at: keys) }
    }

    static let literal = Directive("$literal", taking: .literal, "the value without interpretation") {
        value, keys, compiler in
        compiler.literal(value, at: keys)
    }

    private static func text(
        _ value: MappingValue, _ name: String, _ keys: [String], _ compiler: MappingCompiler
    ) -> String? {
        if case .string(let text) = value { return text }
        compiler.fail("\(name) takes text, not \(value.kind)", at: keys)
        return nil
    }
}
