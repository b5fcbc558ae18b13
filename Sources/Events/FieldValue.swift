/// What lies at a path in an event. The raw values are those of `psj_type`.
@usableFromInline package enum FieldType: UInt8, BitwiseCopyable, Sendable {
    case missing = 0
    case null
    case `false`
    case `true`
    case number
    /// The slice is the contents without quotes, and there is no escape in them.
    case string
    /// The same, with escapes: to be decoded before it is compared or shown.
    case escapedString
    /// The slice has its brackets.
    case array
    case object
}

// In place of the derived operators, which other rooms reach only through a witness table.
extension FieldType {
    @inlinable @inline(__always)
    package static func == (a: FieldType, b: FieldType) -> Bool {
        switch (a, b) {
        case (.missing, .missing), (.null, .null), (.false, .false), (.true, .true), (.number, .number),
            (.string, .string), (.escapedString, .escapedString), (.array, .array), (.object, .object):
            true
        default: false
        }
    }

    @inlinable @inline(__always)
    package static func != (a: FieldType, b: FieldType) -> Bool { !(a == b) }
}

@usableFromInline package struct FieldValue: BitwiseCopyable, Sendable, Equatable {
    /// In the event's bytes; absent if the field is missing.
    @usableFromInline package var slice: Slice
    @usableFromInline package var type: FieldType

    @inlinable @inline(__always)
    package init(slice: Slice, type: FieldType) {
        self.slice = slice
        self.type = type
    }

    @inlinable @inline(__always)
    package static var missing: FieldValue { FieldValue(slice: .absent, type: .missing) }

    /// A string, escaped or not.
    @inlinable @inline(__always)
    package var isString: Bool { type == .string || type == .escapedString }

    /// The value's bytes as they stand in the JSON, a string's quotes included: to be copied into
    /// other JSON as they are. Nil if the field is missing.
    @inlinable @inline(__always)
    package var json: Range<Int>? {
        guard slice.isPresent else { return nil }
        return isString ? slice.range.lowerBound - 1..<slice.range.upperBound + 1 : slice.range
    }
}
