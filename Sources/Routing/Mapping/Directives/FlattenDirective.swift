import Events

extension Directive {
    static let flatten = Directive(
        "$flatten",
        .arguments(
            [
                Argument("value", .value, required: true, "the object; any other value is unchanged"),
                Argument("separator", .text, default: "\".\"", "written between the joined names"),
                Argument(
                    "omitArrays", .flag, default: "false", "keep lists as they are; otherwise item indexes become names"
                ),
            ], shorthand: "value"), "an object whose nested members are moved to the top level, with joined names"
    ) { arguments throws(DirectiveFault) in
        var separator: [UInt8] = []
        JSONText.appendContents((arguments.text("separator") ?? ".").utf8.span, to: &separator)
        return FlattenNode(
            value: try arguments.required("value"), separator: separator,
            keepsLists: arguments.flag("omitArrays") ?? false)
    }
}

private struct FlattenNode: MappingNode {
    /// Deeper levels are copied unchanged.
    static let maximumDepth = 128

    let value: any MappingNode
    let separator: [UInt8]
    let keepsLists: Bool

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var json = scope.run.takeBuffer()
        defer { scope.run.giveBack(&json) }
        let type = scope.readJSON(value, into: &json)
        guard type == .object || type == .array && !keepsLists else {
            output.append(contentsOf: json.span)
            return type != .missing
        }
        var members = scope.run.takeMembers()
        var name = scope.run.takeBuffer()
        defer {
            scope.run.giveBack(&members)
            scope.run.giveBack(&name)
        }
        flatten(FieldValue(of: json.span), of: json.span, depth: 0, name: &name, into: &members, scope.run)
        members.write(to: &output)
        return true
    }

    private func flatten(
        _ value: FieldValue, of json: Span<UInt8>, depth: Int, name: inout [UInt8], into members: inout MemberList,
        _ run: MappingRun
    ) {
        guard let range = value.json, run.allows(members.bytes.count) else { return }
        let length = name.count
        var count = 0
        func add(_ item: FieldValue, _ rest: (inout [UInt8]) -> Void) {
            if depth > 0 { name.append(contentsOf: separator.span) }
            rest(&name)
            flatten(item, of: json, depth: depth + 1, name: &name, into: &members, run)
            name.removeLast(name.count - length)
            count += 1
        }
        if depth < Self.maximumDepth, value.type == .object {
            var cursor = ObjectCursor(range)
            while let member = cursor.next(in: json) {
                add(member.value) { MemberList.appendName(of: member, in: json, to: &$0) }
            }
        } else if depth < Self.maximumDepth, value.type == .array, !keepsLists {
            var cursor = ListCursor(range)
            while let item = cursor.next(in: json) {
                let number = count
                add(item) { $0.append(contentsOf: "\(number)".utf8) }
            }
        }
        // Keep empty objects and lists, so that no member is lost.
        if count == 0, depth > 0 { members.add(name.span, json.extracting(range)) }
    }
}
