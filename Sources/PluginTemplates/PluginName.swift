/// The name of a new plugin: of its directory, of its library libNAME.so, and in a configuration.
package struct PluginName: Sendable, Equatable, CustomStringConvertible {
    /// The longest name, in bytes.
    package static let limit = 64

    /// What a name must be.
    package static let rule =
        "a name has 1 to \(limit) letters (a-z, A-Z), digits, '-' and '_', and does not begin with '-'"

    /// Names of Penstock's own package and its libraries. A new plugin with such a name would hide the shipped one, and
    /// SwiftPM would build Penstock's library in its place.
    package static let reserved = [
        "asyncsink", "console", "journald", "kafka", "mqtt", "penstock", "penstock-nats", "postgres", "redis", "sqlite",
    ]

    package let description: String

    /// - Returns: nil if the text does not follow the rule. It may be reserved.
    package init?(_ text: String) {
        guard (1...Self.limit).contains(text.utf8.count), text.utf8.first != Self.hyphen,
            text.utf8.allSatisfy({ Self.isLetter($0) || Self.isDigit($0) || $0 == Self.hyphen || $0 == Self.underscore }
            )
        else { return nil }
        description = text
    }

    package var isReserved: Bool { Self.reserved.contains(description) }

    /// The Swift module: `my-store` becomes `MyStoreSink`. No keyword and no module of the compiler ends in `Sink`.
    package var module: String {
        let words = description.split { $0 == "-" || $0 == "_" }
        let joined = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        // An identifier does not begin with a digit.
        return (joined.utf8.first.map(Self.isDigit) == true ? "Plugin" : "") + joined + "Sink"
    }

    private static let hyphen = UInt8(ascii: "-")
    private static let underscore = UInt8(ascii: "_")

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
