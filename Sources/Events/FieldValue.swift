/// The type of the value at a path. The raw values are those of `psj_type`.
@usableFromInline package enum FieldType: UInt8, BitwiseCopyable, Sendable {
    case missing = 0
    case null
    case `false`
    case `true`
    case number
    /// The slice is the contents without quotes; they contain no escapes.
    case string
    /// The slice is the contents without quotes; they contain escapes and must be decoded before they are compared or
    /// shown.
    case escapedString
    /// The slice includes the brackets.
    case array
    case object
}

// Replaces the derived operators, which other rooms could call only through a witness table.
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
    /// Relative to the event's first byte; absent if the field is missing.
    @usableFromInline package var slice: Slice
    @usableFromInline package var type: FieldType

    @inlinable @inline(__always)
    package init(slice: Slice, type: FieldType) {
        self.slice = slice
        self.type = type
    }

    @inlinable @inline(__always)
    package static var missing: FieldValue { FieldValue(slice: .absent, type: .missing) }

    /// Whether it is a string, escaped or not.
    @inlinable @inline(__always)
    package var isString: Bool { type == .string || type == .escapedString }

    /// The value's JSON in the event, including a string's quotes; can be copied into other JSON unchanged. nil if the
    /// field is missing.
    @inlinable @inline(__always)
    package var json: Range<Int>? {
        guard slice.isPresent else { return nil }
        return isString ? slice.range.lowerBound - 1..<slice.range.upperBound + 1 : slice.range
    }
}
