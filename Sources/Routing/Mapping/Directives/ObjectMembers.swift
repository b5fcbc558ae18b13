import Events

extension MappingScope {
    /// Writes what a directive makes of an object's members, with commas between, and ends early if the output gets too
    /// large. Of several members with one name, only the last one counts.
    /// - Parameters:
    ///   - brackets: what is written before and after the members.
    ///   - write: gets a member's name, as in the JSON without quotes, and its value. Returns false if the member is
    ///     left out; what it has written is removed then.
    /// - Returns: false: the value is no object. Nothing is written then.
    func writeMembers(
        of object: any MappingNode, in brackets: (Unicode.Scalar, Unicode.Scalar), to output: inout [UInt8],
        _ write: (_ name: Span<UInt8>, _ value: Span<UInt8>, inout [UInt8]) -> Bool
    ) -> Bool {
        var json = run.takeBuffer()
        var members = run.takeMembers()
        defer {
            run.giveBack(&json)
            run.giveBack(&members)
        }
        guard readJSON(object, into: &json) == .object else { return false }
        members.add(0..<json.count, of: json.span, owner: 0, replaces: true)
        json.removeAll(keepingCapacity: true)
        members.write(to: &json)
        let start = output.count
        output.append(UInt8(ascii: brackets.0))
        var cursor = ObjectCursor(0..<json.count)
        while let member = cursor.next(in: json.span), run.allows(output.count - start) {
            guard let value = member.value.json else { continue }
            let mark = output.count
            if mark > start + 1 { output.append(UInt8(ascii: ",")) }
            if !write(json.span.extracting(member.key.range), json.span.extracting(value), &output) {
                output.removeLast(output.count - mark)
            }
        }
        output.append(UInt8(ascii: brackets.1))
        return true
    }
}
