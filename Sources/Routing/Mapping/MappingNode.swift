import Events

/// A part of a compiled mapping: something that has a value for each event.
protocol MappingNode: Sendable {
    /// Appends its value as JSON.
    /// - Returns: false if it comes to nothing; `output` is unchanged then.
    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool

    /// Where the value lies, if the node is no more than that. Who has to look at the value can do
    /// so without a copy.
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
        // A span's items are looked at where they are; an array's would be copied, and counted.
        let members = self.members.span
        for i in members.indices {
            let mark = output.count
            output.append(contentsOf: members[i].name.text.span)
            if !members[i].value.write(scope, to: &output) { output.removeLast(output.count - mark) }
            guard scope.run.allows(output.count - start) else { break }
        }
        // In place of the first comma.
        if output.count == start { output.append(0) }
        output[start] = UInt8(ascii: "{")
        output.append(UInt8(ascii: "}"))
        return true
    }
}
