public struct Logger: Sendable {
    public struct Message: ExpressibleByStringInterpolation, Sendable {
        public init(stringLiteral value: String) {}
    }

    public typealias Metadata = [String: MetadataValue]

    public enum MetadataValue: ExpressibleByStringInterpolation, Sendable {
        case string(String)

        public init(stringLiteral value: String) { self = .string(value) }
    }

    public init(label: String) {}
    public func warning(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
}
