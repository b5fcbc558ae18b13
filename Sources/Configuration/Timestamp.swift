/// A point in time as people write it: RFC 3339, or a date alone (midnight UTC).
enum Timestamp {
    /// Nanoseconds since 1970-01-01 UTC; nil: not a time, or one outside the years 1970 to 2200.
    static func parse(_ text: String) -> Int64? {
        var rest = text.utf8[...]
        guard let year = digits(4, &rest), take("-", &rest), let month = digits(2, &rest), take("-", &rest),
            let day = digits(2, &rest), (1970...2200).contains(year), (1...12).contains(month),
            (1...length(month, of: year)).contains(day)
        else { return nil }
        var seconds = daysSince1970(year, month, day) * 86_400
        guard !rest.isEmpty else { return seconds * 1_000_000_000 }
        guard take("T", &rest) || take("t", &rest) || take(" ", &rest), let hour = digits(2, &rest), take(":", &rest),
            let minute = digits(2, &rest), take(":", &rest), let second = digits(2, &rest), hour < 24, minute < 60,
            second < 60
        else { return nil }
        seconds += hour * 3_600 + minute * 60 + second
        var nanoseconds: Int64 = 0
        if take(".", &rest) {
            var scale: Int64 = 100_000_000
            var count = 0
            while let digit = digits(1, &rest) {
                nanoseconds += digit * scale
                scale /= 10
                count += 1
            }
            guard (1...9).contains(count) else { return nil }
        }
        if take("Z", &rest) || take("z", &rest) {
            return rest.isEmpty ? seconds * 1_000_000_000 + nanoseconds : nil
        }
        let sign: Int64
        if take("+", &rest) { sign = -1 } else if take("-", &rest) { sign = 1 } else { return nil }
        guard let hours = digits(2, &rest), take(":", &rest), let minutes = digits(2, &rest), hours < 24, minutes < 60,
            rest.isEmpty
        else { return nil }
        seconds += sign * (hours * 3_600 + minutes * 60)
        return seconds * 1_000_000_000 + nanoseconds
    }

    private static func take(_ character: Unicode.Scalar, _ rest: inout Substring.UTF8View) -> Bool {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func digits(_ count: Int, _ rest: inout Substring.UTF8View) -> Int64? {
        let taken = rest.prefix(count)
        guard taken.count == count else { return nil }
        var number: Int64 = 0
        for byte in taken {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(count)
        return number
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func length(_ month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        var days = day - 1
        for earlier in 1970..<year { days += isLeap(earlier) ? 366 : 365 }
        for earlier in 1..<month { days += length(earlier, of: year) }
        return days
    }
}
