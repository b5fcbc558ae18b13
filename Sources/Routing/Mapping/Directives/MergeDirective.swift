import Events

extension Directive {
    static let merge = Directive(
        "$merge",
        .arguments(
            [
                Argument("objects", .values, required: true, "the objects; anything else among them is passed over"),
                Argument(
                    "direction", .choice(["right", "left"]), default: "right",
                    "whose value counts where several have a member: that of the last one, or of the first"),
            ], shorthand: "objects"), "one object with the members of several"
    ) { arguments throws(DirectiveFault) in
        MergeNode(objects: arguments.values("objects") ?? [], replaces: arguments.text("direction") != "left")
    }
}

private struct MergeNode: MappingNode {
    let objects: [any MappingNode]
    let replaces: Bool

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var members = scope.run.takeMembers()
        defer { scope.run.giveBack(&members) }
        for (owner, object) in objects.enumerated() {
            if case .path(let path) = object.field {
                let value = scope.value(path)
                guard value.type == .object else { continue }
                members.add(value.slice.range, of: scope.view.json, owner: owner, replaces: replaces)
            } else {
                var json = scope.run.takeBuffer()
                if scope.readJSON(object, into: &json) == .object {
                    members.add(0..<json.count, of: json.span, owner: owner, replaces: replaces)
                }
                scope.run.giveBack(&json)
            }
            guard scope.run.allows(members.bytes.count) else { break }
        }
        members.write(to: &output)
        return true
    }
}
