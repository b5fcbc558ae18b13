/// The header Retry-After (RFC 9110, 10.2.3): seconds, or a date.
package enum RetryAfter {
    /// No service means more than this in earnest, and no arithmetic on it can overflow. The
    /// worker bounds it further, by its own configuration.
    package static let longest: Duration = .seconds(7 * 86_400)

    /// - Parameter wallClock: nanoseconds since 1970-01-01 UTC.
    /// - Returns: how long to wait from now on, 0 to `longest`; nil: it cannot be understood.
    package static func parse(_ text: String, wallClock: Int64) -> Duration? {
        let value = text.utf8.drop(while: isBlank)
        guard let first = value.first else { return nil }
        guard isDigit(first) || first == UInt8(ascii: "-") else {
            guard let date = secondsOfHTTPDate(text) else { return nil }
            let (wait, overflow) = date.subtractingReportingOverflow(wallClock / 1_000_000_000)
            return overflow ? longest : min(max(.zero, .seconds(wait)), longest)
        }
        var seconds = 0
        var digits = 0
        var rest = value
        while let byte = rest.first, isDigit(byte) {
            seconds = min(seconds * 10 + Int(byte - UInt8(ascii: "0")), Int(longest.components.seconds))
            digits += 1
            rest = rest.dropFirst()
        }
        // A fraction is not in the standard; services send it, and less than a second does not matter.
        guard digits > 0, rest.first.map({ isBlank($0) || $0 == UInt8(ascii: ".") }) ?? true else { return nil }
        return .seconds(seconds)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
