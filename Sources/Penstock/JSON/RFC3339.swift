#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Dates in the form that events use: `2026-01-31T12:00:00.000Z`.
package enum RFC3339 {
    /// Appends a date without quotes, truncated to milliseconds.
    /// - Returns: False, with nothing appended, if the year does not have four digits.
    package static func append(_ date: Date, to output: inout JSONText) -> Bool {
        guard let milliseconds = milliseconds(date) else { return false }
        append(milliseconds, to: &output)
        return true
    }

    /// Writes the dates of many events. Most are in the same second as the one before: then only the fraction is
    /// written anew.
    struct Writer: Sendable {
        private var second = Int64.min
        private var text: [UInt8] = []

        /// Appends a date as ``RFC3339/append(_:to:)`` does.
        mutating func append(_ date: Date, to output: inout JSONText) -> Bool {
            guard let milliseconds = RFC3339.milliseconds(date) else { return false }
            let fraction = milliseconds.modulo(1000)
            if second != milliseconds - fraction {
                second = milliseconds - fraction
                var text = JSONText()
                RFC3339.append(second, to: &text)
                self.text = text.bytes
            }
            output.bytes.append(contentsOf: text)
            output.set(fraction, digits: 3, endingAt: output.bytes.count - 1)
            return true
        }
    }

    /// The milliseconds since 1970, rounded down; nil outside the years 0 to 9999, and for NaN.
    private static func milliseconds(_ date: Date) -> Int64? {
        let seconds = date.timeIntervalSince1970
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return nil }
        // A Double is not exact: without the correction, 0.123 could become 0.122.
        return Int64((seconds * 1000 + 0.0005).rounded(.down))
    }

    private static func append(_ milliseconds: Int64, to output: inout JSONText) {
        let (days, time) = (milliseconds.floored(by: 86_400_000), milliseconds.modulo(86_400_000))
        let (year, month, day) = civil(days)
        let start = output.bytes.count
        output.append("0000-00-00T00:00:00.000Z")
        output.set(year, digits: 4, endingAt: start + 4)
        output.set(month, digits: 2, endingAt: start + 7)
        output.set(day, digits: 2, endingAt: start + 10)
        output.set(time / 3_600_000, digits: 2, endingAt: start + 13)
        output.set(time / 60_000 % 60, digits: 2, endingAt: start + 16)
        output.set(time / 1000 % 60, digits: 2, endingAt: start + 19)
        output.set(time % 1000, digits: 3, endingAt: start + 23)
    }

    static func text(of date: Date) -> String? {
        var output = JSONText()
        return append(date, to: &output) ? String(decoding: output.bytes, as: UTF8.self) : nil
    }

    /// Parses the form that `append` writes.
    static func date(_ text: String) -> Date? {
        let parts = text.utf8.split { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.map {
            Int64(Substring($0)) ?? 0
        }
        guard parts.count == 7, text.utf8.count == 24, text.utf8.last == UInt8(ascii: "Z") else { return nil }
        let days = daysSinceEpoch(parts[0], parts[1], parts[2])
        let seconds = days * 86_400 + parts[3] * 3600 + parts[4] * 60 + parts[5]
        return Date(timeIntervalSince1970: Double(seconds * 1000 + parts[6]) / 1000)
    }

    // The algorithms are from Howard Hinnant's "chrono-compatible low-level date algorithms". Their year begins in
    // March, so that the leap day is the last day of the year.

    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.floored(by: 146_097)
        let dayOfEra = shifted.modulo(146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let civilMonth = month < 10 ? month + 3 : month - 9
        return (yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth, dayOfYear - (153 * month + 2) / 5 + 1)
    }

    private static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.floored(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let yearOfEra = shifted.modulo(400)
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension Int64 {
    fileprivate func floored(by divisor: Int64) -> Int64 { (self - modulo(divisor)) / divisor }
    fileprivate func modulo(_ divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
