import Events

/// Copies an event without duplicate keys: the last member of each name in an object stays. All readers understand the
/// copy alike.
struct UniqueMembers {
    private var output: [UInt8] = []

    static func copy(_ json: Span<UInt8>) -> [UInt8] {
        var copy = UniqueMembers()
        copy.output.reserveCapacity(json.count)
        copy.append(FieldValue(slice: Slice(offset: 0, length: UInt32(json.count)), type: .object), of: json)
        return copy.output
    }

    /// Whether an object, and every object that is a member in it, certainly has no duplicate names. It is certain only
    /// for small objects with plain names. For all others, the answer is false.
    static func areCertain(_ object: Range<Int>, of json: Span<UInt8>) -> Bool {
        var names = InlineArray<32, Slice>(repeating: .absent)
        var count = 0
        var cursor = ObjectCursor(object)
        while let member = cursor.next(in: json) {
            guard count < names.count, !member.isKeyEscaped else { return false }
            let name = json.extracting(member.key.range)
            for i in 0..<count where names[i].length == member.key.length {
                if json.extracting(names[i].range).hasBytes(of: name) { return false }
            }
            names[count] = member.key
            count += 1
            if member.value.type == .object, let range = member.value.json, !areCertain(range, of: json) {
                return false
            }
        }
        return true
    }

    private mutating func append(_ value: FieldValue, of json: Span<UInt8>) {
        guard let range = value.json else { return }
        switch value.type {
        case .object:
            var last: [[UInt8]: Int] = [:]
            var members: [(name: [UInt8], member: ObjectCursor.Member)] = []
            var cursor = ObjectCursor(range)
            while let member = cursor.next(in: json) {
                let name = member.name(in: json)
                last[name] = members.count
                members.append((name, member))
            }
            output.append(UInt8(ascii: "{"))
            var isFirst = true
            for (number, (name, member)) in members.enumerated() where last[name] == number {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                let start = member.value.json?.lowerBound ?? member.range.upperBound
                output.append(contentsOf: json.extracting(member.range.lowerBound..<start))
                append(member.value, of: json)
            }
            output.append(UInt8(ascii: "}"))
        case .array:
            output.append(UInt8(ascii: "["))
            var isFirst = true
            var cursor = ListCursor(range)
            while let item = cursor.next(in: json) {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                append(item, of: json)
            }
            output.append(UInt8(ascii: "]"))
        case .missing, .null, .true, .false, .number, .string, .escapedString:
            output.append(contentsOf: json.extracting(range))
        }
    }
}
