import NameSuggestion

/// The arguments given to a directive, checked against its declaration. A directive that takes a single value has it
/// under the name "".
struct DirectiveArguments {
    enum Given {
        case value(any MappingNode)
        case inner(any MappingNode, scope: Int)
        case values([any MappingNode])
        case text(String)
        case flag(Bool)
        case integer(Int)
        case secret(Int)
    }

    private var given: [String: Given] = [:]

    /// - Parameters:
    ///   - name: the directive's name.
    ///   - keys: the place of the value.
    /// - Returns: nil if there are errors, which the compiler has then recorded.
    init?(
        _ value: MappingValue, of name: String, _ form: Directive.Form,
        _ explained: [String: (message: String, hint: String)], at keys: [String], _ compiler: MappingCompiler
    ) {
        let isRead =
            switch form {
            case .value, .literal, .text: read(value, .init("", .value, ""), at: keys, compiler)
            case .arguments(let declared, let shorthand):
                read(value, of: name, declared, shorthand, explained, at: keys, compiler)
            case .list(let declared): read(value, of: name, declared, at: keys, compiler)
            }
        guard isRead else { return nil }
    }

    /// Reads named arguments.
    private mutating func read(
        _ value: MappingValue, of name: String, _ declared: [Directive.Argument], _ shorthand: String?,
        _ explained: [String: (message: String, hint: String)], at keys: [String], _ compiler: MappingCompiler
    ) -> Bool {
        let list = declared.map(\.name).joined(separator: ", ")
        if let argument = declared.first(where: { $0.name == shorthand }), Self.isShort(value) {
            return read(value, argument, at: keys, compiler)
        }
        guard case .object(let members) = value else {
            compiler.fail("\(name) takes an object, not \(value.kind)", at: keys, hint: "its arguments are \(list)")
            return false
        }
        var isValid = true
        var meant: Set<String> = []
        for member in members {
            if let argument = declared.first(where: { $0.name == member.name }) {
                isValid = read(member.value, argument, at: keys + [member.name], compiler) && isValid
            } else if let reason = explained[member.name] {
                compiler.fail(reason.message, at: keys + [member.name], isKey: true, hint: reason.hint)
                compiler.noteSecrets(in: member.value)
                isValid = false
            } else {
                let nearest = NearestName.find(member.name, among: declared.map(\.name))
                compiler.fail(
                    "\(name) has no argument \(member.name)", at: keys + [member.name], isKey: true,
                    hint: nearest.map { "did you mean \($0)?" } ?? "its arguments are \(list)")
                isValid = false
                if let argument = declared.first(where: { $0.name == nearest }) {
                    meant.insert(argument.name)
                    _ = Self.read(member.value, argument, at: keys + [member.name], compiler)
                } else {
                    compiler.noteSecrets(in: member.value)
                }
            }
        }
        for argument in declared
        where argument.isRequired && !meant.contains(argument.name)
            && !members.contains(where: { $0.name == argument.name })
        {
            compiler.fail(
                "\(name) needs \(argument.name)", at: keys, isKey: true,
                hint: "add \(argument.name): \(argument.summary)")
            isValid = false
        }
        return isValid
    }

    /// Whether the value is the shorthand: a single value, a list or a directive, not an object of arguments.
    private static func isShort(_ value: MappingValue) -> Bool {
        guard case .object(let members) = value else { return true }
        return members.count == 1 && members[0].name.hasPrefix("$")
    }

    /// Reads positional arguments.
    private mutating func read(
        _ value: MappingValue, of name: String, _ declared: [Directive.Argument], at keys: [String],
        _ compiler: MappingCompiler
    ) -> Bool {
        let hint = "write \(name): [ \(declared.map(\.name).joined(separator: ", ")) ]"
        guard case .list(let items) = value else {
            compiler.fail("\(name) takes a list, not \(value.kind)", at: keys, hint: hint)
            return false
        }
        let fewest = declared.count(where: \.isRequired)
        guard items.count <= declared.count, items.count >= fewest else {
            compiler.fail(
                "\(name) takes a list of \(fewest) to \(declared.count) items, not \(items.count)", at: keys, hint: hint
            )
            return false
        }
        var isValid = true
        for (i, item) in items.enumerated() {
            isValid = read(item, declared[i], at: keys + ["\(i)"], compiler) && isValid
        }
        return isValid
    }

    private mutating func read(
        _ value: MappingValue, _ argument: Directive.Argument, at keys: [String], _ compiler: MappingCompiler
    ) -> Bool {
        guard let read = Self.read(value, argument, at: keys, compiler) else { return false }
        given[argument.name] = read
        return true
    }

    private static func read(
        _ value: MappingValue, _ argument: Directive.Argument, at keys: [String], _ compiler: MappingCompiler
    ) -> Given? {
        switch (argument.shape, value) {
        case (.value, _): return compiler.compile(value, at: keys).map(Given.value)
        case (.inner, _): return compiler.compileInner(value, at: keys).map { .inner($0.node, scope: $0.scope) }
        case (.values, .list(let items)):
            var nodes: [any MappingNode] = []
            for (i, item) in items.enumerated() {
                if let node = compiler.compile(item, at: keys + ["\(i)"]) { nodes.append(node) }
            }
            return nodes.count == items.count ? .values(nodes) : nil
        case (.secret, _):
            guard let node = compiler.compile(value, at: keys) else { return nil }
            if let number = (node as? TemplateNode)?.secret { return .secret(number) }
            compiler.fail("\(argument.name) must be a secret", at: keys, hint: "write \(argument.name): !secret NAME")
        case (.text, .string(let text)): return .text(text)
        case (.flag, .bool(let flag)): return .flag(flag)
        case (.integer(let bounds), .number(let digits)):
            if let number = Int(digits), bounds.contains(number) { return .integer(number) }
            compiler.fail(
                "\(argument.name) must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound), "
                    + "not \(digits)",
                at: keys,
                hint: NearestNumber.whole(digits).flatMap { Int($0) }.flatMap {
                    bounds.contains($0) ? "write \($0)" : nil
                })
        case (.choice(let choices), .string(let text)):
            if choices.contains(text) { return .text(text) }
            let list = choices.joined(separator: ", ")
            compiler.fail(
                "\(argument.name) must be one of \(list)", at: keys,
                hint: NearestName.find(text, among: choices).map { "did you mean \($0)?" })
        case (.choice(let choices), _):
            compiler.fail(
                "\(argument.name) must be one of \(choices.joined(separator: ", ")), not \(value.kind)", at: keys)
        case (.values, _): compiler.fail("\(argument.name) must be a list, not \(value.kind)", at: keys)
        case (.text, _): compiler.fail("\(argument.name) must be text, not \(value.kind)", at: keys)
        case (.integer, _): compiler.fail("\(argument.name) must be a whole number, not \(value.kind)", at: keys)
        case (.flag, _): compiler.fail("\(argument.name) must be true or false, not \(value.kind)", at: keys)
        }
        return nil
    }

    /// Returns nil if the argument was not given.
    func value(_ name: String = "") -> (any MappingNode)? {
        if case .value(let node) = given[name] { node } else { nil }
    }

    func inner(_ name: String) -> (node: any MappingNode, scope: Int)? {
        if case .inner(let node, let scope) = given[name] { (node, scope) } else { nil }
    }

    func values(_ name: String) -> [any MappingNode]? {
        if case .values(let nodes) = given[name] { nodes } else { nil }
    }

    func text(_ name: String) -> String? {
        if case .text(let text) = given[name] { text } else { nil }
    }

    func flag(_ name: String) -> Bool? {
        if case .flag(let flag) = given[name] { flag } else { nil }
    }

    func integer(_ name: String) -> Int? {
        if case .integer(let number) = given[name] { number } else { nil }
    }

    /// Index of the secret in the mapping's list of secrets.
    func secret(_ name: String) -> Int? {
        if case .secret(let number) = given[name] { number } else { nil }
    }

    /// Returns a required argument. Throws if it is missing.
    func required(_ name: String = "") throws(DirectiveFault) -> any MappingNode {
        guard let node = value(name) else { throw DirectiveFault(message: "\(name) is missing") }
        return node
    }
}
