import Events

extension Directive {
    static let merge = Directive(
        "$merge",
        .arguments(
            [
                Argument("objects", .values, required: true, "the objects; any other value is ignored"),
                Argument(
                    "direction", .choice(["right", "left"]), default: "right",
                    "which object wins if several have the same member: right for the last, left for the first"),
            ], shorthand: "objects"), "one object with the members of several"
    ) { arguments throws(DirectiveFault) in
        MergeNode(objects: arguments.values("objects") ?? [], replaces: arguments.text("direction") != "left")
    }
}

private struct MergeNode: MappingNode {
    private enum Part {
        case path(Int)
        /// A literal object; its members are written directly to the result.
        case members([ObjectNode.Member])
        case other(any MappingNode)
    }

    private let parts: [Part]
    private let replaces: Bool

    init(objects: [any MappingNode], replaces: Bool) {
        self.replaces = replaces
        parts = objects.map { object in
            if case .path(let path) = object.field { return .path(path) }
            if let object = object as? ObjectNode { return .members(object.members) }
            return .other(object)
        }
    }

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var members = scope.run.takeMembers()
        defer { scope.run.giveBack(&members) }
        let parts = self.parts.span
        for owner in parts.indices {
            add(parts[owner], owner: owner, scope, to: &members)
            guard scope.run.allows(members.bytes.count) else { break }
        }
        members.write(to: &output)
        return true
    }

    private func add(_ part: Part, owner: Int, _ scope: borrowing MappingScope, to members: inout MemberList) {
        switch part {
        case .path(let path):
            let value = scope.value(path)
            guard value.type == .object else { return }
            members.add(value.slice.range, of: scope.view.memory, owner: owner, replaces: replaces)
        case .members(let given):
            let given = given.span
            for i in given.indices {
                members.add(given[i].name, owner: owner, replaces: replaces) { given[i].value.write(scope, to: &$0) }
                guard scope.run.allows(members.bytes.count) else { return }
            }
        case .other(let object):
            var json = scope.run.takeBuffer()
            defer { scope.run.giveBack(&json) }
            guard scope.readJSON(object, into: &json) == .object else { return }
            members.add(0..<json.count, of: json.span, owner: owner, replaces: replaces)
        }
    }
}
