import Events

/// Iterates over the members of a valid JSON object without building anything.
package struct ObjectCursor {
    package struct Member {
        /// The contents of the key, without quotes.
        package var key: Slice
        package var isKeyEscaped: Bool
        package var value: FieldValue

        /// From the key's opening quote to the value's end.
        var range: Range<Int> { Int(key.offset) - 1..<(value.json?.upperBound ?? key.range.upperBound) }

        /// The key, with its escapes decoded.
        /// - Parameter bytes: the bytes in which the member was found.
        package func name(in bytes: Span<UInt8>) -> [UInt8] {
            let contents = bytes.extracting(key.range)
            var name: [UInt8] = []
            return isKeyEscaped && JSONText.unescape(contents, into: &name) ? name : [UInt8](copying: contents)
        }
    }

    private var items: ListCursor

    /// - Parameter object: the object with its brackets, as a range of the bytes that `next` gets.
    package init(_ object: Range<Int>) { items = ListCursor(object) }

    /// The next member. Nil: the end.
    package mutating func next(in bytes: Span<UInt8>) -> Member? {
        guard let key = items.next(in: bytes), key.isString else { return nil }
        items.skipColon(in: bytes)
        guard let value = items.next(in: bytes) else { return nil }
        return Member(key: key.slice, isKeyEscaped: key.type == .escapedString, value: value)
    }
}
