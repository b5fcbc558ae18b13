import Events

/// Copies an event without the members that have another of the same name behind them in the same
/// object: what is left means the same to every reader.
struct UniqueMembers {
    private var output: [UInt8] = []

    static func copy(_ json: Span<UInt8>) -> [UInt8] {
        var copy = UniqueMembers()
        copy.output.reserveCapacity(json.count)
        copy.append(FieldValue(slice: Slice(offset: 0, length: UInt32(json.count)), type: .object), of: json)
        return copy.output
    }

    private mutating func append(_ value: FieldValue, of json: Span<UInt8>) {
        guard let range = value.json else { return }
        switch value.type {
        case .object:
            var last: [[UInt8]: Int] = [:]
            var members: [(name: [UInt8], member: ObjectCursor.Member)] = []
            var cursor = ObjectCursor(range)
            while let member = cursor.next(in: json) {
                let key = json.extracting(member.key.range)
                var name: [UInt8] = []
                if !member.isKeyEscaped || !JSONText.unescape(key, into: &name) { name = [UInt8](copying: key) }
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
