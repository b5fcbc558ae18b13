import Events

/// Compiles a mapping. It handles text and structure itself and leaves directives to their declarations. It continues
/// after an error, to report all errors at once. One thread; one compiler per mapping.
final class MappingCompiler {
    /// Levels of nested objects, lists and directives.
    static let maximumDepth = 32

    /// The paths of each scope, indexed by scope number. Scope 0 is the event.
    private(set) var scopes = [PathTable()]
    /// Number of values compiled in each scope, indexed by scope number.
    private(set) var scopeSizes = [0]
    private(set) var secrets: [String] = []
    private(set) var errors: [TransformError] = []
    private var scope = 0
    /// Whether the mapping wraps events, so that `$events` is a placeholder; `eventPlaces` lists where it occurs.
    private let goesAroundEvents: Bool
    private(set) var eventPlaces: [[String]] = []
    /// Paths and templates that read fields of the event, and the places where they are written.
    private(set) var paths: [(text: String, keys: [String])] = []
    private(set) var templates: [(text: String, keys: [String])] = []
    /// Places of objects whose only member is a mapping-kit directive: `@path` instead of `$path`.
    private(set) var foreignDirectives: [[String]] = []

    init(aroundEvents: Bool = false) { goesAroundEvents = aroundEvents }

    /// - Returns: nil if the value has errors, which are then in `errors`.
    func compile(_ value: MappingValue, at keys: [String]) -> (any MappingNode)? {
        scopeSizes[scope] += 1
        guard keys.count < Self.maximumDepth else {
            fail("a mapping is nested at most \(Self.maximumDepth) levels deep", at: keys)
            return nil
        }
        switch value {
        case .null, .bool, .number: return literal(value, at: keys)
        case .string(EventsNode.name) where goesAroundEvents:
            eventPlaces.append(keys)
            return EventsNode()
        case .string(let text): return string(text, at: keys)
        case .secret(let name): return TemplateNode(pieces: [.field(secret(name))])
        case .list(let items):
            var nodes: [any MappingNode] = []
            for (i, item) in items.enumerated() {
                if let node = compile(item, at: keys + ["\(i)"]) { nodes.append(node) }
            }
            guard nodes.count == items.count else { return nil }
            return nodes.allSatisfy { $0 is ConstantNode } ? literal(value, at: keys) : ListNode(items: nodes)
        case .object(let members):
            return object(members, at: keys)
        }
    }

    /// Compiles a value in a new scope, where paths do not start at the event.
    func compileInner(_ value: MappingValue, at keys: [String]) -> (node: any MappingNode, scope: Int)? {
        let outer = scope
        scope = scopes.count
        scopes.append(PathTable())
        scopeSizes.append(0)
        let inner = scope
        defer { scope = outer }
        return compile(value, at: keys).map { ($0, inner) }
    }

    /// Compiles a value without interpreting it.
    func literal(_ value: MappingValue, at keys: [String]) -> (any MappingNode)? {
        var json: [UInt8] = []
        guard value.appendLiteral(to: &json) else {
            fail("a secret is not allowed inside $literal", at: keys)
            return nil
        }
        return ConstantNode(json: json)
    }

    // MARK: Errors

    func fail(_ fault: FilterError, at keys: [String], isKey: Bool = false) {
        errors.append(TransformError(keys: keys, isKey: isKey, fault: fault))
    }

    func fail(_ message: String, at keys: [String], isKey: Bool = false, hint: String? = nil) {
        fail(FilterError(0..<0, message, hint: hint), at: keys, isKey: isKey)
    }

    // MARK: Text

    private func string(_ text: String, at keys: [String]) -> (any MappingNode)? {
        text.hasPrefix("$.") ? path(text, at: keys) : template(text, at: keys)
    }

    /// Compiles a path: `$.a.b`, or `$` for the whole value.
    func path(_ text: String, at keys: [String]) -> (any MappingNode)? {
        if scope == 0 { paths.append((text, keys)) }
        if text == "$" { return FieldNode(source: .whole) }
        guard text.hasPrefix("$.") else {
            let name = text.drop { $0 == "$" || $0 == "." || $0 == " " }
            fail(
                text.isEmpty ? "a path is missing" : "a path begins with \"$.\"", at: keys,
                hint: name.isEmpty
                    ? "write $.properties.name for a field, or $ for all of the event" : "write $.\(name)")
            return nil
        }
        do {
            return FieldNode(source: field(try FieldPath(parsing: String(text.dropFirst(2)))))
        } catch {
            fail(error.shifted(by: 2), at: keys)
            return nil
        }
    }

    func template(_ text: String, at keys: [String]) -> (any MappingNode)? {
        if scope == 0 { templates.append((text, keys)) }
        do {
            let pieces = try TemplateText.parse(text)
            guard pieces.contains(where: { if case .path = $0 { true } else { false } }) else {
                return literal(.string(text), at: keys)
            }
            return TemplateNode(
                pieces: pieces.map { piece in
                    switch piece {
                    case .literal(let contents): .literal(contents)
                    case .path(let path): .field(templateField(path))
                    }
                })
        } catch {
            fail(error, at: keys)
            return nil
        }
    }

    private func templateField(_ path: FieldPath) -> MappingField {
        guard path.segments.count > 1, path.segments[0] == "secret" else { return field(path) }
        return secret(path.segments.dropFirst().joined(separator: "."))
    }

    private func secret(_ name: String) -> MappingField {
        if let known = secrets.firstIndex(of: name) { return .secret(known) }
        secrets.append(name)
        return .secret(secrets.count - 1)
    }

    /// Records the secrets in a value that cannot be compiled, so that `secrets` is complete.
    func noteSecrets(in value: MappingValue) {
        switch value {
        case .null, .bool, .number: break
        case .secret(let name): _ = secret(name)
        case .string(let text):
            for case .path(let path) in (try? TemplateText.parse(text)) ?? [] { _ = templateField(path) }
        case .list(let items): items.forEach(noteSecrets)
        case .object(let members): members.forEach { noteSecrets(in: $0.value) }
        }
    }

    private func field(_ path: FieldPath) -> MappingField {
        guard scope == 0, path.segments.count == 1 else { return .path(scopes[scope].index(of: path)) }
        switch path.segments[0] {
        case "timestamp":
            return .timestamp(
                original: scopes[0].index(of: path), sentAt: scopes[0].index(of: FieldPath(["sentAt"])))
        case "originalTimestamp": return .path(scopes[0].index(of: FieldPath(["timestamp"])))
        case "receivedAt": return .receivedAt
        case "messageId": return .messageID(scopes[0].index(of: path))
        default: return .path(scopes[0].index(of: path))
        }
    }

    // MARK: Objects

    /// Compiles an object. A member name that starts with `$` is a directive and must be the only member. Some services
    /// use such names too (`$insert_id`), so in an object with several members an unknown `$` name is an ordinary
    /// member. `$$` at the start of a name always stands for one `$`.
    private func object(_ members: [MappingValue.Member], at keys: [String]) -> (any MappingNode)? {
        let marked = members.filter { $0.name.hasPrefix("$") && !$0.name.hasPrefix("$$") }
        if members.count == 1, let only = marked.first { return directive(only, at: keys) }
        if members.count == 1, Directive.isForeign(members[0].name) {
            foreignDirectives.append(keys + [members[0].name])
        }
        var isValid = true
        let directives = marked.filter { Directive.named($0.name) != nil }
        if let second = directives.dropFirst().first {
            fail(
                "two directives in one object: \(directives[0].name) and \(second.name)", at: keys + [second.name],
                isKey: true,
                hint: "a directive must be the only member of its object; nest one in the other, or use $merge")
            isValid = false
        } else if let only = directives.first {
            fail(
                "the directive \(only.name) must be the only member of its object", at: keys + [only.name], isKey: true,
                hint: "use $merge to add members to its result; "
                    + "a member of that name is written $\(only.name)")
            isValid = false
        }
        for member in marked where Directive.named(member.name) == nil {
            guard let nearest = Directive.nearest(member.name) else { continue }
            unknown(member.name, nearest, at: keys)
            isValid = false
        }
        for member in members where member.name.contains("{{") {
            fail(
                "a member's name cannot be a template", at: keys + [member.name], isKey: true,
                hint: "names are taken literally; for a name that contains {{, wrap the object in { $literal: … }")
            isValid = false
        }
        var names: Set<String> = []
        for member in members where !names.insert(Self.name(member.name)).inserted {
            fail(
                "another member has the name \(Self.name(member.name)) too", at: keys + [member.name], isKey: true,
                hint: "$$ at the start of a name stands for one $; remove one of the two")
            isValid = false
        }
        var nodes: [ObjectNode.Member] = []
        for member in members {
            if let directive = Directive.named(member.name) {
                _ = directive.read(member.value, at: keys + [member.name], self)
                continue
            }
            guard let node = compile(member.value, at: keys + [member.name]) else { continue }
            nodes.append(ObjectNode.Member(name: MemberList.Name(Self.name(member.name)), value: node))
        }
        guard isValid, nodes.count == members.count else { return nil }
        return Self.folded(ObjectNode(members: nodes))
    }

    private static func name(_ text: String) -> String { text.hasPrefix("$$") ? String(text.dropFirst()) : text }

    /// Renders an object of constants once, at compile time.
    private static func folded(_ object: ObjectNode) -> any MappingNode {
        var json: [UInt8] = []
        for member in object.members {
            guard let constant = member.value as? ConstantNode else { return object }
            json += member.name.text + constant.json
        }
        return ConstantNode(json: [UInt8(ascii: "{")] + json.dropFirst() + [UInt8(ascii: "}")])
    }

    private func directive(_ member: MappingValue.Member, at keys: [String]) -> (any MappingNode)? {
        guard let directive = Directive.named(member.name) else {
            let nearest = Directive.nearest(member.name).flatMap(Directive.named)
            unknown(member.name, nearest?.name, at: keys)
            // Report errors inside the directive too, if the name is close enough to a known one.
            _ = nearest?.read(member.value, at: keys + [member.name], self)
            if nearest == nil { noteSecrets(in: member.value) }
            return nil
        }
        return directive.read(member.value, at: keys + [member.name], self)
    }

    private func unknown(_ name: String, _ nearest: String?, at keys: [String]) {
        let member = "a member of that name is written $\(name)"
        fail(
            "unknown directive \(name)", at: keys + [name], isKey: true,
            hint: nearest.map { "did you mean \($0)? \(member)" }
                ?? "the directives are \(Directive.all.map(\.name).joined(separator: ", ")); \(member)")
    }
}
