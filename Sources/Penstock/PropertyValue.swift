#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A property value whose type is known only at run time: written as a literal, or read from a recorded event.
///
/// ```swift
/// analytics.track("Post Liked", ["Liked": true, "Tags": ["swift", "linux"], "Score": 4.5])
/// ```
public enum PropertyValue: Sendable {
    /// JSON `null`.
    case null
    /// A Boolean value.
    case boolean(Bool)
    /// A 64-bit integer.
    case integer(Int64)
    /// A floating-point number. NaN and infinity are recorded as `null`.
    case double(Double)
    /// A number that a `Double` cannot represent with the same digits. A number read from an event has this case only
    /// if it fits no other one.
    case decimal(Decimal)
    /// A string.
    case string(String)
    /// An array.
    case array([PropertyValue])
    /// An object. Its members are recorded in the order of their names.
    case object([String: PropertyValue])

    /// Returns a date as events record it: an RFC 3339 string in UTC with milliseconds. A date that RFC 3339 cannot
    /// represent becomes `null`.
    public static func date(_ date: Date) -> PropertyValue {
        RFC3339.text(of: date).map(PropertyValue.string) ?? .null
    }

    /// Creates the value that an `Encodable` value is recorded as.
    ///
    /// - Parameter value: The value to encode.
    /// - Throws: The error that the value throws; `EncodingError` if it encodes nothing.
    public init(encoding value: some Encodable) throws {
        let writer = JSONWriter()
        try writer.write(value)
        self = JSONReader.value(of: writer.bytes) ?? .null
    }
}

extension PropertyValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates `null` from `nil`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean value from a literal such as `true`.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates an integer from a literal such as `12`.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a number from a literal such as `12.5`.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a string from a literal such as `"text"` or `"with \(values)"`.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array from a literal such as `[1, "two"]`.
    public init(arrayLiteral elements: PropertyValue...) { self = .array(elements) }
    /// Creates an object from a literal such as `["a": 1]`. If a key occurs twice, its last value is used.
    public init(dictionaryLiteral elements: (String, PropertyValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

extension PropertyValue {
    /// Creates a Boolean value.
    public init(_ value: Bool) { self = .boolean(value) }
    /// Creates an integer.
    public init(_ value: Int) { self = .integer(Int64(value)) }
    /// Creates a floating-point number.
    public init(_ value: Double) { self = .double(value) }
    /// Creates a decimal number, which keeps all its digits.
    public init(_ value: Decimal) { self = .decimal(value) }
    /// Creates a string.
    public init(_ value: String) { self = .string(value) }

    /// The string; nil if the value is not a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The Boolean value; nil if the value is not a Boolean.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The integer; nil if the value is not a 64-bit integer.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The number, rounded to the nearest `Double`; nil if the value is not a number.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): Double(value.description)
        default: nil
        }
    }
    /// The elements; nil if the value is not an array.
    public var array: [PropertyValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members; nil if the value is not an object.
    public var object: [String: PropertyValue]? { if case .object(let value) = self { value } else { nil } }
}

extension PropertyValue: Hashable {
    /// Returns whether two values are equal. Numbers are compared by value, whatever case holds them: `1` equals `1.0`.
    public static func == (a: PropertyValue, b: PropertyValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.boolean(let a), .boolean(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.integer(let integer), .double(let double)), (.double(let double), .integer(let integer)):
            Int64(exactly: double) == integer
        case (.decimal(let decimal), let other), (let other, .decimal(let decimal)):
            other.exactDecimal == decimal
        default: false
        }
    }

    /// Hashes the value. Equal numbers have equal hashes.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .boolean(let value): hasher.combine(value)
        case .integer, .double, .decimal: hasher.combine(double)
        case .string(let value): hasher.combine(value)
        case .array(let values): hasher.combine(values)
        case .object(let members): hasher.combine(members)
        }
    }

    /// The number with the digits of its text; nil if the value is not a number.
    private var exactDecimal: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .double(let value): Decimal(string: value.description)
        case .decimal(let value): value
        default: nil
        }
    }
}

extension PropertyValue: Encodable {
    /// Encodes the contained value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .decimal(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}

extension PropertyValue: CustomStringConvertible {
    /// The value as JSON. The members of objects are sorted by name.
    public var description: String {
        var text = JSONText()
        _ = write(to: &text, depth: JSONBuilder.maximumDepth)
        return String(decoding: text.bytes, as: UTF8.self)
    }
}
