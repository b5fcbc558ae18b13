#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A type whose values can be properties: `track("Post Liked", ["Liked": liked, "Posts": posts.count])`.
///
/// Optionals, arrays and dictionaries of such types are such types, too. An enum with raw values conforms without
/// further code:
///
/// ```swift
/// enum Plan: String, PropertyValueConvertible { case free, pro }
/// analytics.identify("u_4711", traits: ["plan": plan])
/// ```
public protocol PropertyValueConvertible {
    /// The value as it is recorded.
    var propertyValue: PropertyValue { get }
}

extension PropertyValue: PropertyValueConvertible {
    /// The value itself.
    public var propertyValue: PropertyValue { self }
}

extension Bool: PropertyValueConvertible {
    /// The value as a `.bool`.
    public var propertyValue: PropertyValue { .bool(self) }
}

extension String: PropertyValueConvertible {
    /// The text as a `.string`.
    public var propertyValue: PropertyValue { .string(self) }
}

extension Substring: PropertyValueConvertible {
    /// The text as a `.string`.
    public var propertyValue: PropertyValue { .string(String(self)) }
}

extension PropertyValueConvertible where Self: FixedWidthInteger {
    /// The number as an `.int`, or as a `.decimal` if it does not fit.
    public var propertyValue: PropertyValue {
        Int(exactly: self).map { .int($0) } ?? Decimal(string: description).map { .decimal($0) } ?? .null
    }
}

extension Int: PropertyValueConvertible {}
extension Int8: PropertyValueConvertible {}
extension Int16: PropertyValueConvertible {}
extension Int32: PropertyValueConvertible {}
extension Int64: PropertyValueConvertible {}
extension UInt: PropertyValueConvertible {}
extension UInt8: PropertyValueConvertible {}
extension UInt16: PropertyValueConvertible {}
extension UInt32: PropertyValueConvertible {}
extension UInt64: PropertyValueConvertible {}

extension Double: PropertyValueConvertible {
    /// The number as a `.double`.
    public var propertyValue: PropertyValue { .double(self) }
}

extension Float: PropertyValueConvertible {
    /// The number with the same decimal digits as a `.double`.
    public var propertyValue: PropertyValue { .double(Double(description) ?? Double(self)) }
}

extension Decimal: PropertyValueConvertible {
    /// The number as a `.decimal`.
    public var propertyValue: PropertyValue { .decimal(self) }
}

extension Date: PropertyValueConvertible {
    /// The date as ``PropertyValue/date(_:)``.
    public var propertyValue: PropertyValue { .date(self) }
}

extension URL: PropertyValueConvertible {
    /// The URL as ``PropertyValue/url(_:)``.
    public var propertyValue: PropertyValue { .url(self) }
}

extension UUID: PropertyValueConvertible {
    /// The UUID as ``PropertyValue/uuid(_:)``.
    public var propertyValue: PropertyValue { .uuid(self) }
}

extension Optional: PropertyValueConvertible where Wrapped: PropertyValueConvertible {
    /// The wrapped value; `.null` without one.
    public var propertyValue: PropertyValue { self?.propertyValue ?? .null }
}

extension Array: PropertyValueConvertible where Element: PropertyValueConvertible {
    /// The elements as an `.array`.
    public var propertyValue: PropertyValue { .array(map(\.propertyValue)) }
}

extension Set: PropertyValueConvertible where Element: PropertyValueConvertible & Comparable {
    /// The elements as an `.array`, sorted.
    public var propertyValue: PropertyValue { .array(sorted().map(\.propertyValue)) }
}

extension Dictionary: PropertyValueConvertible where Key == String, Value: PropertyValueConvertible {
    /// The members as a `.dictionary`.
    public var propertyValue: PropertyValue { .dictionary(mapValues(\.propertyValue)) }
}

extension PropertyValueConvertible where Self: RawRepresentable, RawValue: PropertyValueConvertible {
    /// The raw value.
    public var propertyValue: PropertyValue { rawValue.propertyValue }
}

extension [String: PropertyValue] {
    /// Creates properties from values of any suitable types.
    public init(_ values: [String: (any PropertyValueConvertible)?]) {
        self = values.mapValues { $0?.propertyValue ?? .null }
    }

    /// The values for a vendor's SDK that takes a `[String: Any]`. Members that are `null` are left out.
    public var any: [String: Any] { compactMapValues(\.any) }
}
