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
///
/// Its cases are those of JSON, under the names of Swift's types. A date, a URL and a UUID are strings.
public enum PropertyValue: Sendable {
    /// JSON `null`.
    case null
    /// A Boolean value.
    case bool(Bool)
    /// An integer.
    case int(Int)
    /// A floating-point number. NaN and infinity are recorded as `null`.
    case double(Double)
    /// A number that a `Double` cannot represent with the same digits. A number read from an event has this case only
    /// if it fits no other one.
    case decimal(Decimal)
    /// A string.
    case string(String)
    /// An array.
    case array([PropertyValue])
    /// A dictionary: a JSON object. Its members are recorded in the order of their names.
    case dictionary([String: PropertyValue])

    /// Returns a date as events record it: an RFC 3339 string in UTC with milliseconds. A date that RFC 3339 cannot
    /// represent becomes `null`.
    public static func date(_ date: Date) -> PropertyValue {
        RFC3339.text(of: date).map(PropertyValue.string) ?? .null
    }

    /// Returns a URL as events record it: its absolute text.
    public static func url(_ url: URL) -> PropertyValue { .string(url.absoluteString) }

    /// Returns a UUID as events record it: its text in capitals.
    public static func uuid(_ uuid: UUID) -> PropertyValue { .string(uuid.uuidString) }

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
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer from a literal such as `12`.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// Creates a number from a literal such as `12.5`.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a string from a literal such as `"text"` or `"with \(values)"`.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array from a literal such as `[1, "two"]`.
    public init(arrayLiteral elements: PropertyValue...) { self = .array(elements) }
    /// Creates an object from a literal such as `["a": 1]`. If a key occurs twice, its last value is used.
    public init(dictionaryLiteral elements: (String, PropertyValue)...) {
        self = .dictionary(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

extension PropertyValue {
    /// Creates a value from one of a suitable type: a Boolean, a number, a text, a date, a URL, a UUID, or an optional,
    /// an array or a dictionary of these.
    public init(_ value: some PropertyValueConvertible) { self = value.propertyValue }

    /// The string; nil if the value is not a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The Boolean value; nil if the value is not a Boolean.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The integer; nil if the value is not an `Int`.
    public var int: Int? { if case .int(let value) = self { value } else { nil } }
    /// The number, rounded to the nearest `Double`; nil if the value is not a number.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): Double(value.description)
        default: nil
        }
    }
    /// The elements; nil if the value is not an array.
    public var array: [PropertyValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members; nil if the value is not a dictionary.
    public var dictionary: [String: PropertyValue]? { if case .dictionary(let value) = self { value } else { nil } }
    /// The date; nil if the value is not a date as events record it.
    public var date: Date? { string.flatMap(RFC3339.date) }

    /// The value for a vendor's SDK that takes `Any`: a `Bool`, `Int`, `Double`, `Decimal`, `String`, `[Any]` or
    /// `[String: Any]`. It is nil for `null`, which arrays and dictionaries leave out.
    public var any: Any? {
        switch self {
        case .null: nil
        case .bool(let value): value
        case .int(let value): value
        case .double(let value): value
        case .decimal(let value): value
        case .string(let value): value
        case .array(let values): values.compactMap(\.any)
        case .dictionary(let members): members.any
        }
    }
}

extension PropertyValue: Hashable {
    /// Returns whether two values are equal. Numbers are compared by value, whatever case holds them: `1` equals `1.0`.
    public static func == (a: PropertyValue, b: PropertyValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.int(let integer), .double(let double)), (.double(let double), .int(let integer)):
            Int(exactly: double) == integer
        case (.decimal(let decimal), let other), (let other, .decimal(let decimal)):
            other.exactDecimal == decimal
        default: false
        }
    }

    /// Hashes the value. Equal numbers have equal hashes.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .int, .double, .decimal: hasher.combine(double)
        case .string(let value): hasher.combine(value)
        case .array(let values): hasher.combine(values)
        case .dictionary(let members): hasher.combine(members)
        }
    }

    /// The number with the digits of its text; nil if the value is not a number.
    private var exactDecimal: Decimal? {
        switch self {
        case .int(let value): Decimal(value)
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
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .decimal(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .dictionary(let members): try container.encode(members)
        }
    }
}

extension PropertyValue: Decodable {
    /// Decodes a value of any type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            // A number that a Double changes keeps its digits in a Decimal.
            let decimal = try? container.decode(Decimal.self)
            self =
                decimal.map { $0 == Decimal(string: value.description) ? .double(value) : .decimal($0) }
                ?? .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let values = try? container.decode([PropertyValue].self) {
            self = .array(values)
        } else {
            self = .dictionary(try container.decode([String: PropertyValue].self))
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
