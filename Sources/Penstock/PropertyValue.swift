#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value of a property, where its type is not known before: written as a literal, or read from an
/// event that was recorded.
///
/// ```swift
/// analytics.track("Post Liked", ["Liked": true, "Tags": ["swift", "linux"], "Score": 4.5])
/// ```
public enum PropertyValue: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    /// A number that a `Double` would spell differently. Numbers that are read are of this case only if
    /// they have to be.
    case decimal(Decimal)
    case string(String)
    case array([PropertyValue])
    case object([String: PropertyValue])

    /// A time, as events spell it: RFC 3339, UTC, milliseconds.
    public static func date(_ date: Date) -> PropertyValue {
        RFC3339.text(of: date).map(PropertyValue.string) ?? .null
    }

    /// The form in which a value that encodes itself is recorded.
    /// - Throws: what the value throws; `EncodingError` if it encodes nothing.
    public init(encoding value: some Encodable) throws {
        let writer = JSONWriter()
        try writer.write(value)
        self = JSONReader.value(of: writer.bytes) ?? .null
    }
}

extension PropertyValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: PropertyValue...) { self = .array(elements) }
    /// Of a key that is there twice the last value counts.
    public init(dictionaryLiteral elements: (String, PropertyValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

extension PropertyValue {
    public init(_ value: Bool) { self = .boolean(value) }
    public init(_ value: Int) { self = .integer(Int64(value)) }
    public init(_ value: Double) { self = .double(value) }
    public init(_ value: Decimal) { self = .decimal(value) }
    public init(_ value: String) { self = .string(value) }

    /// The value, if it is a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The value, if it is true or false.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The value, if it is a whole number of 64 bits.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The value, if it is a number; the nearest one that a `Double` can hold.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): Double(value.description)
        default: nil
        }
    }
    /// The values, if it is a list.
    public var array: [PropertyValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members, if it is an object.
    public var object: [String: PropertyValue]? { if case .object(let value) = self { value } else { nil } }
}

extension PropertyValue: Hashable {
    /// Numbers are equal by their value, however they are kept: `1` equals `1.0`.
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

    /// The number as its text says it; nil for what is none.
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
    /// The value as JSON; the members of objects in the order of their names.
    public var description: String {
        var text = JSONText()
        _ = write(to: &text, depth: JSONWriter.maximumDepth)
        return String(decoding: text.bytes, as: UTF8.self)
    }
}
