/// Parses and formats times in RFC 3339 (a profile of ISO 8601): exactly, or as nanoseconds since 1970-01-01 UTC.
package enum Timestamp {
    /// Parses like `time(_:)`. Times before 1677 or after 2262 do not fit 64 bits of nanoseconds and saturate. That is
    /// enough to validate a time and to compare it with a current one.
    package static func parse(_ text: Span<UInt8>) -> Int64? {
        time(text).map { $0.count(perSecond: EventTime.nanosecondsPerSecond) ?? ($0.seconds < 0 ? .min : .max) }
    }

    /// Parses a date and time; nil if the text is not one. Beyond RFC 3339, it accepts forms that clients are known to
    /// send: a date alone, a time without seconds, a time without an offset (UTC, as for a date alone), an offset
    /// without a colon or without minutes, a comma before the fraction, and 24:00 for the end of a day.
    ///
    /// Fractions are truncated after nine digits. Second 60, a leap second, equals the next second.
    package static func time(_ text: Span<UInt8>) -> EventTime? {
        var reader = Reader(text)
        guard let year = reader.digits(4), reader.skip("-"), let month = reader.digits(2), reader.skip("-"),
            let day = reader.digits(2), 1...12 ~= month, 1...daysIn(month, of: year) ~= day
        else { return nil }
        var seconds = daysSinceEpoch(year, month, day) * 86_400
        if reader.isAtEnd { return EventTime(seconds: Int64(seconds), nanoseconds: 0) }

        guard reader.skip("T") || reader.skip("t") || reader.skip(" "), let hour = reader.digits(2), hour <= 24,
            reader.skip(":"), let minute = reader.digits(2), minute <= 59
        else { return nil }
        var second = 0
        var fraction = 0
        if reader.skip(":") {
            guard let read = reader.digits(2), read <= 60 else { return nil }
            second = read
            if reader.skip(".") || reader.skip(",") {
                guard let read = reader.fraction() else { return nil }
                fraction = read
            }
        }
        if hour == 24 && (minute > 0 || second > 0 || fraction > 0) { return nil }
        guard let offset = reader.offset(), reader.isAtEnd else { return nil }
        seconds += hour * 3600 + minute * 60 + second - offset
        return EventTime(seconds: Int64(seconds), nanoseconds: Int64(fraction))
    }

    /// Parses like `parse(_:)` of bytes.
    package static func parse(_ text: String) -> Int64? { parse(text.utf8.span) }

    /// Appends a time in RFC 3339. Every 64-bit time can be formatted.
    package static func append(_ nanoseconds: Int64, to output: inout [UInt8]) {
        _ = append(EventTime(nanoseconds: nanoseconds), to: &output)
    }

    /// Appends `2026-01-31T12:00:00.000Z`: UTC, with 3, 6 or 9 fraction digits, as many as the value needs.
    /// - Returns: false, and appends nothing, if the year is outside 0 to 9999, the range of RFC 3339.
    package static func append(_ moment: EventTime, to output: inout [UInt8]) -> Bool {
        let fraction = Int(moment.nanoseconds)
        let (days, time) = floorDivide(Int(moment.seconds), by: 86_400)
        // 0000-01-01 to 9999-12-31.
        guard -719_528...2_932_896 ~= days else { return false }
        let (year, month, day) = date(of: days)
        func put(_ value: Int, _ digits: Int, _ mark: Unicode.Scalar) {
            var unit = 1
            for _ in 1..<digits { unit *= 10 }
            while unit > 0 {
                output.append(UInt8(ascii: "0") + UInt8(value / unit % 10))
                unit /= 10
            }
            output.append(UInt8(ascii: mark))
        }
        put(year, 4, "-")
        put(month, 2, "-")
        put(day, 2, "T")
        put(time / 3600, 2, ":")
        put(time / 60 % 60, 2, ":")
        put(time % 60, 2, ".")
        if fraction % 1_000_000 == 0 {
            put(fraction / 1_000_000, 3, "Z")
        } else if fraction % 1000 == 0 {
            put(fraction / 1000, 6, "Z")
        } else {
            put(fraction, 9, "Z")
        }
        return true
    }

    /// Formats a time in RFC 3339.
    package static func format(_ nanoseconds: Int64) -> String {
        var text: [UInt8] = []
        append(nanoseconds, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static func floorDivide(_ value: Int, by divisor: Int) -> (Int, Int) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func daysIn(_ month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // The two functions below start each year in March, so that a leap day is the last day of its year. Years are
    // grouped into the Gregorian calendar's cycle of 400 years, 146,097 days. In such a year, month m (March is 0)
    // begins on day (153 m + 2) / 5. Days are counted from 0000-03-01; 1970-01-01 is day 719,468.

    private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month > 2 ? year : year - 1
        let (cycle, yearOfCycle) = floorDivide(year, by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfCycle = yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear
        return cycle * 146_097 + dayOfCycle - 719_468
    }

    private static func date(of days: Int) -> (year: Int, month: Int, day: Int) {
        let (cycle, dayOfCycle) = floorDivide(days + 719_468, by: 146_097)
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100)
        let fromMarch = (5 * dayOfYear + 2) / 153
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        let year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * fromMarch + 2) / 5 + 1)
    }
}

extension Timestamp {
    /// Parses a time's text from left to right.
    private struct Reader: ~Escapable {
        private let text: Span<UInt8>
        private var position = 0

        @_lifetime(copy text)
        init(_ text: Span<UInt8>) { self.text = text }

        var isAtEnd: Bool { position == text.count }

        @_lifetime(self: copy self)
        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        @_lifetime(self: copy self)
        mutating func digit() -> Int? {
            guard position < text.count, case let digit = text[position] &- UInt8(ascii: "0"), digit < 10 else {
                return nil
            }
            position += 1
            return Int(digit)
        }

        @_lifetime(self: copy self)
        mutating func digits(_ count: Int) -> Int? {
            var value = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        /// Nanoseconds from a fraction of at least one digit.
        @_lifetime(self: copy self)
        mutating func fraction() -> Int? {
            guard let first = digit() else { return nil }
            var unit = 100_000_000
            var value = first * unit
            while let digit = digit() {
                unit /= 10
                value += digit * unit
            }
            return value
        }

        /// Seconds east of UTC; nil if the text is not an offset.
        @_lifetime(self: copy self)
        mutating func offset() -> Int? {
            if isAtEnd || skip("Z") || skip("z") { return 0 }
            let isWest = skip("-")
            guard isWest || skip("+"), let hours = digits(2), hours <= 23 else { return nil }
            var minutes = 0
            if !isAtEnd {
                _ = skip(":")
                guard let read = digits(2), read <= 59 else { return nil }
                minutes = read
            }
            let seconds = hours * 3600 + minutes * 60
            return isWest ? -seconds : seconds
        }
    }
}
