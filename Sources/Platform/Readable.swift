/// Numbers as people read them.
package enum Readable {
    /// `12,300`.
    package static func grouped(_ number: UInt64) -> String {
        var groups: [Substring] = []
        var rest = Substring(String(number))
        while !rest.isEmpty {
            groups.insert(rest.suffix(3), at: 0)
            rest = rest.dropLast(3)
        }
        return groups.joined(separator: ",")
    }

    /// At most two significant digits, in the largest unit that fits: `0.25 s`, `90 s`, `14 min`, `1.5 h`, `3.2 d`.
    /// More than 99 days are shown in full.
    package static func duration(_ seconds: Double) -> String {
        var amount = seconds.clamped
        if amount < 0.0005 { return "0 s" }
        if amount < 0.0995 { return digits(amount * 1000) + " ms" }
        for (unit, next) in [("s", 60.0), ("min", 60), ("h", 24)] {
            if amount < 99.5 { return digits(amount) + " " + unit }
            amount /= next
        }
        return digits(amount) + " d"
    }

    /// As a duration, but with microseconds: `250 µs`, `4.2 ms`, `0.25 s`.
    package static func latency(_ seconds: Double) -> String {
        let amount = seconds.clamped
        if amount < 0.0000005 { return "0 µs" }
        return amount < 0.0009995 ? digits(amount * 1e6) + " µs" : duration(amount)
    }

    /// `0.25`, `2.5`, `3`, `25`.
    private static func digits(_ amount: Double) -> String {
        if amount >= 9.95 { return grouped(UInt64(amount.rounded().clamped)) }
        let (factor, places) = amount < 0.995 ? (100.0, 2) : (10.0, 1)
        let whole = UInt64((amount * factor).rounded().clamped)
        if whole % UInt64(factor) == 0 { return "\(whole / UInt64(factor))" }
        let rest = String(whole % UInt64(factor))
        return "\(whole / UInt64(factor))." + String(repeating: "0", count: places - rest.count) + rest
    }

    /// `1 event`, `1,200 events`.
    package static func counted(_ count: UInt64, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// `1.5 GiB`.
    package static func size(_ bytes: UInt64) -> String {
        var amount = Double(bytes)
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if amount < 1024 { return unit == "B" ? "\(bytes) B" : "\((amount * 10).rounded() / 10) \(unit)" }
            amount /= 1024
        }
        return "\((amount * 10).rounded() / 10) TiB"
    }

    /// As above.
    package static func duration(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return Self.duration(Double(seconds) + Double(attoseconds) / 1e18)
    }
}

extension Double {
    /// Limited to the range that converts to a 64-bit integer; NaN becomes 0.
    package var clamped: Double { isNaN ? 0 : Swift.min(Swift.max(self, 0), 1e18) }
}
