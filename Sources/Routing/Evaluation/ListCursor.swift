import Events

/// Iterates over the items of a valid JSON list without building anything.
package struct ListCursor {
    private var position: Int
    private let end: Int

    /// - Parameter list: the list with its brackets, as a range of the bytes that `next` gets.
    package init(_ list: Range<Int>) {
        position = list.lowerBound + 1
        end = max(position, list.upperBound - 1)
    }

    /// The next item. Its slice counts from the start of `bytes`. Nil: the end.
    package mutating func next(in bytes: Span<UInt8>) -> FieldValue? {
        while position < end, Self.isBetweenItems(bytes[position]) { position += 1 }
        guard position < end else { return nil }
        let start = position
        switch bytes[start] {
        case UInt8(ascii: "\""):
            let escaped = skipString(in: bytes)
            return item(start + 1, position - 1, escaped ? .escapedString : .string)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            let type: FieldType = bytes[start] == UInt8(ascii: "[") ? .array : .object
            skipContainer(in: bytes)
            return item(start, position, type)
        case let first:
            while position < end, !Self.isBetweenItems(bytes[position]) { position += 1 }
            let type: FieldType =
                switch first {
                case UInt8(ascii: "t"): .true
                case UInt8(ascii: "f"): .false
                case UInt8(ascii: "n"): .null
                default: .number
                }
            return item(start, position, type)
        }
    }

    /// Skips the colon after a key of an object.
    mutating func skipColon(in bytes: Span<UInt8>) {
        while position < end, JSONMembers.isSpace(bytes[position]) { position += 1 }
        if position < end, bytes[position] == UInt8(ascii: ":") { position += 1 }
    }

    private static func isBetweenItems(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private func item(_ start: Int, _ end: Int, _ type: FieldType) -> FieldValue {
        FieldValue(
            slice: Slice(offset: UInt32(start), length: UInt32(max(0, end - start))), type: type)
    }

    /// Skips from the opening quote past the closing one. Returns whether the string contains escapes.
    private mutating func skipString(in bytes: Span<UInt8>) -> Bool {
        var escaped = false
        position += 1
        while position < end,
            let found = bytes.firstIndex(of: UInt8(ascii: "\""), or: UInt8(ascii: "\\"), in: position..<end)
        {
            position = found + 1
            if bytes[found] == UInt8(ascii: "\"") { return escaped }
            escaped = true
            position += 1
        }
        position = end
        return escaped
    }

    private mutating func skipContainer(in bytes: Span<UInt8>) {
        var depth = 0
        while position < end {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                _ = skipString(in: bytes)
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            position += 1
            if depth == 0 { return }
        }
    }
}
