import Events

/// A part of a compiled mapping. It has a value for each event.
protocol MappingNode: Sendable {
    /// Appends its value as JSON.
    /// - Returns: false if the value is missing; `output` is then unchanged.
    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool

    /// The field, if the node only reads a field. Lets a directive inspect the value without a copy.
    var field: MappingField? { get }
}

extension MappingNode {
    var field: MappingField? { nil }
}

/// JSON that is the same for every event.
struct ConstantNode: MappingNode {
    let json: [UInt8]

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        output.append(contentsOf: json.span)
        return true
    }
}

struct ListNode: MappingNode {
    let items: [any MappingNode]

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        let start = output.count
        output.append(UInt8(ascii: "["))
        for item in items {
            let mark = output.count
            if mark > start + 1 { output.append(UInt8(ascii: ",")) }
            if !item.write(scope, to: &output) { output.removeLast(output.count - mark) }
            guard scope.run.allows(output.count - start) else { break }
        }
        output.append(UInt8(ascii: "]"))
        return true
    }
}

struct ObjectNode: MappingNode {
    struct Member: Sendable {
        var name: MemberList.Name
        var value: any MappingNode
    }

    let members: [Member]

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        let start = output.count
        // Use a span, because iterating over the array would copy and retain each member.
        let members = self.members.span
        for i in members.indices {
            let mark = output.count
            output.append(contentsOf: members[i].name.text.span)
            if !members[i].value.write(scope, to: &output) { output.removeLast(output.count - mark) }
            guard scope.run.allows(output.count - start) else { break }
        }
        // Replace the first comma. An empty object has none, so add a byte to replace.
        if output.count == start { output.append(0) }
        output[start] = UInt8(ascii: "{")
        output.append(UInt8(ascii: "}"))
        return true
    }
}
