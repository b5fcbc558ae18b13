import Events

/// Iterates over all strings, numbers and literals in an event, at every depth. Keys are not included.
struct ScalarCursor {
    private var position = 0
    private var depth = 0
    /// The contents of the key before the current value. For an item of a list, it is the key of the list, or the key
    /// of a member in an earlier item.
    private(set) var key = Slice.absent

    /// - Parameter json: the bytes of an accepted event.
    init(_ json: Span<UInt8>) {}

    /// Whether the current value is a member of the event itself, not of something inside it.
    var isAtTopLevel: Bool { depth == 1 }

    /// The next value. Nil: the end.
    mutating func next(in json: Span<UInt8>) -> FieldValue? {
        while position < json.count {
            let byte = json[position]
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                let (contents, isEscaped) = string(json)
                let next = JSONMembers.skipSpace(position, json)
                guard next < json.count, json[next] == UInt8(ascii: ":") else {
                    return FieldValue(slice: contents, type: isEscaped ? .escapedString : .string)
                }
                key = contents
                position = next
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "a")...UInt8(ascii: "z"):
                return scalar(json)
            default: break
            }
            position += 1
        }
        return nil
    }

    private mutating func string(_ json: Span<UInt8>) -> (Slice, isEscaped: Bool) {
        var isEscaped = false
        position += 1
        let start = position
        while position < json.count, json[position] != UInt8(ascii: "\"") {
            if json[position] == UInt8(ascii: "\\") {
                isEscaped = true
                position += 1
            }
            position += 1
        }
        let end = min(position, json.count)
        position = min(position + 1, json.count)
        return (Slice(offset: UInt32(start), length: UInt32(end - start)), isEscaped)
    }

    private mutating func scalar(_ json: Span<UInt8>) -> FieldValue {
        let start = position
        while position < json.count {
            let byte = json[position]
            if JSONMembers.isSpace(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
                || byte == UInt8(ascii: "]")
            {
                break
            }
            position += 1
        }
        let type: FieldType =
            switch json[start] {
            case UInt8(ascii: "n"): .null
            case UInt8(ascii: "t"): .true
            case UInt8(ascii: "f"): .false
            default: .number
            }
        return FieldValue(slice: Slice(offset: UInt32(start), length: UInt32(position - start)), type: type)
    }
}
