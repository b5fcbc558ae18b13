/// Numbers with a unit, as written in the configuration: `200ms`, `32KiB`, `"0660"`. Pure functions of text. They
/// return nil for any other text and never trap.
package enum Quantity {
    package static let durationHint = "a duration is a whole number and a unit: 50us 200ms 5s 10m 24h 7d"
    package static let sizeHint = "a size is a number of bytes, or one with a unit: 4096 32KiB 1MiB 20GiB"

    /// - Parameter saturating: if true, a duration too long for 64 bits becomes the longest one; otherwise the result
    ///   is nil.
    package static func duration(_ text: String, saturating: Bool = false) -> Duration? {
        if text == "0" { return .zero }
        guard let (number, unit) = split(text, saturating) else { return nil }
        let nanoseconds: Int
        switch unit {
        case "us": nanoseconds = 1_000
        case "ms": nanoseconds = 1_000_000
        case "s": nanoseconds = 1_000_000_000
        case "m": nanoseconds = 60 * 1_000_000_000
        case "h": nanoseconds = 3_600 * 1_000_000_000
        case "d": nanoseconds = 86_400 * 1_000_000_000
        default: return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: nanoseconds)
        return overflow ? (saturating ? .nanoseconds(Int64.max) : nil) : .nanoseconds(product)
    }

    /// - Parameter saturating: as in `duration`.
    package static func size(_ text: String, saturating: Bool = false) -> Int? {
        guard let (number, unit) = split(text, saturating) else { return nil }
        let shift: Int
        switch unit {
        case "", "B": shift = 0
        case "KiB": shift = 10
        case "MiB": shift = 20
        case "GiB": shift = 30
        case "TiB": shift = 40
        case "PiB": shift = 50
        default: return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        return overflow ? (saturating ? .max : nil) : product
    }

    /// Parses octal permission bits such as "0660", with or without the leading zero.
    package static func mode(_ text: String) -> UInt32? {
        let digits = text.hasPrefix("0o") ? text.dropFirst(2) : text[...]
        guard (3...4).contains(digits.utf8.count), let mode = UInt32(digits, radix: 8), !digits.hasPrefix("+"),
            mode <= 0o777
        else { return nil }
        return mode
    }

    package static func integer(_ text: String) -> Int? {
        guard let (number, unit) = split(text), unit.isEmpty else { return nil }
        return number
    }

    /// The shortest notation.
    package static func text(_ duration: Duration) -> String {
        let microseconds = microseconds(duration)
        let units: [(String, Int64)] = [
            ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000),
        ]
        for (unit, size) in units
        where microseconds != 0 && microseconds.isMultiple(of: size) {
            return "\(microseconds / size)\(unit)"
        }
        return microseconds == 0 ? "0s" : "\(microseconds)us"
    }

    package static func text(_ size: Int) -> String {
        for (unit, shift) in [("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)]
        where size != 0 && size.isMultiple(of: 1 << shift) {
            return "\(size >> shift)\(unit)"
        }
        return "\(size)"
    }

    private static func microseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : whole &+ attoseconds / 1_000_000_000_000
    }

    private static func split(_ text: String, _ saturating: Bool = false) -> (Int, Substring)? {
        let digits = text.prefix { $0.utf8.count == 1 && ("0"..."9").contains($0) }
        guard !digits.isEmpty, let number = Int(digits) ?? (saturating ? .max : nil) else { return nil }
        return (number, text[digits.endIndex...])
    }
}
