/// The Retry-After header (RFC 9110, section 10.2.3): seconds, or a date.
package enum RetryAfter {
    /// Longer waits are capped, as no service means them seriously; the cap also rules out overflow. The worker caps
    /// the wait further, by its configuration.
    package static let longest: Duration = .seconds(7 * 86_400)

    /// - Parameter wallClock: nanoseconds since 1970-01-01 UTC.
    /// - Returns: how long to wait from now, 0 to `longest`; nil: the text is not valid.
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
        // The standard has no fractions, but services send them. A fraction of a second does not matter.
        guard digits > 0, rest.first.map({ isBlank($0) || $0 == UInt8(ascii: ".") }) ?? true else { return nil }
        return .seconds(seconds)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
