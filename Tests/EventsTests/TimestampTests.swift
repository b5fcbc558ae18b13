import Events
import Testing

@Suite struct TimestampTests {
    static let second: Int64 = 1_000_000_000

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01", 0), ("1970-01-01T00:00", 0), ("1970-01-01 00:00:01", second),
            ("1969-12-31T23:59:59Z", -second), ("2001-09-09t01:46:40z", 1_000_000_000 * second),
            ("2024-02-29T12:00:00Z", 1_709_208_000 * second), ("2000-02-29", 951_782_400 * second),
            ("2024-12-31T24:00:00Z", 1_735_689_600 * second), ("2025-01-01T00:00:00Z", 1_735_689_600 * second),
            ("2016-12-31T23:59:60Z", 1_483_228_800 * second), ("2017-01-01T00:59:60+01:00", 1_483_228_800 * second),
            ("1970-01-01T01:00:00+01:00", 0), ("1969-12-31T20:30:00-03:30", 0), ("1970-01-01T05:30:00+0530", 0),
            ("1970-01-01T02:00:00+02", 0), ("1970-01-01T00:00:00-00:00", 0),
            ("1970-01-01T00:00:00.5Z", 500_000_000), ("1970-01-01T00:00:00.123456789Z", 123_456_789),
            ("1970-01-01T00:00:00,25", 250_000_000), ("1970-01-01T00:00:00.0000000019999999999999999999999Z", 1),
            ("1969-12-31T23:59:59.999999999Z", -1),
            ("0001-01-01T00:00:00Z", .min), ("0000-01-01", .min), ("9999-12-31T23:59:59Z", .max),
            ("2262-04-11T23:47:16.854775807Z", .max), ("2262-04-11T23:47:16.854775808Z", .max),
        ] as [(String, Int64)]) func `a valid time is parsed`(_ text: String, _ nanoseconds: Int64)
    {
        #expect(Timestamp.parse(text) == nanoseconds)
    }

    @Test(arguments: [
        "", "2024", "2024-01", "2024-1-1", "2024-00-10", "2024-13-01", "2024-01-00", "2024-01-32", "2024-04-31",
        "2023-02-29", "1900-02-29", "2100-02-29", "24-01-01", "2024/01/01", "2024-01-01T", "2024-01-01T10",
        "2024-01-01T25:00:00Z", "2024-01-01T24:00:01Z", "2024-01-01T24:00:00.1Z", "2024-01-01T10:60:00Z",
        "2024-01-01T10:00:61Z", "2024-01-01T10:00:00.Z", "2024-01-01T10:00:00 Z", "2024-01-01T10:00:00+24:00",
        "2024-01-01T10:00:00+01:60", "2024-01-01T10:00:00+1", "2024-01-01T10:00:00+01:", "2024-01-01T10:00:00Zulu",
        "2024-01-01Z", " 2024-01-01", "2024-01-01 ", "20240101T100000Z", "1700000000", "２０２４-01-01",
        "2024-01-01T10:00:00−01:00",
        "+2024-01-01", "-2024-01-01", "now",
    ]) func `text that is not a time is refused`(_ text: String) {
        #expect(Timestamp.parse(text) == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999999999Z"),
            (1_709_208_000 * second + 120_000_000, "2024-02-29T12:00:00.120Z"),
            (1_234_000, "1970-01-01T00:00:00.001234Z"),
            (.min, "1677-09-21T00:12:43.145224192Z"), (.max, "2262-04-11T23:47:16.854775807Z"),
        ] as [(Int64, String)]) func `a time is written with 3, 6 or 9 decimals`(_ nanoseconds: Int64, _ text: String)
    {
        #expect(Timestamp.format(nanoseconds) == text)
    }

    @Test(
        arguments: [
            ("9999-12-31T23:59:59Z", 253_402_300_799, "9999-12-31T23:59:59.000Z"),
            ("0000-01-01", -62_167_219_200, "0000-01-01T00:00:00.000Z"),
            ("2262-04-11T23:47:16.854775808Z", 9_223_372_036, "2262-04-11T23:47:16.854775808Z"),
            ("1969-12-31T23:59:59.5Z", -1, "1969-12-31T23:59:59.500Z"),
            // Years that RFC 3339 cannot write.
            ("9999-12-31T23:59:59-00:01", 253_402_300_859, nil), ("0000-01-01T00:00:00+00:01", -62_167_219_260, nil),
        ] as [(String, Int64, String?)])
    func `a time is exact in every year`(_ text: String, _ seconds: Int64, _ written: String?) throws {
        let read = Timestamp.time(text.utf8.span)
        let time = try #require(read)
        #expect(time.seconds == seconds)
        var output: [UInt8] = [1]
        #expect(Timestamp.append(time, to: &output) == (written != nil))
        #expect(String(decoding: output.dropFirst(), as: UTF8.self) == written ?? "")
        #expect(time.count(perSecond: 1000) == seconds * 1000 + time.nanoseconds / 1_000_000)
        #expect((time.count(perSecond: 1_000_000_000) == nil) == (seconds > 9_223_372_035 || seconds < -9_223_372_036))
    }

    @Test func `the quick look takes plain times only, and each of them`() {
        let plain = Array("2026-02-28T23:59:59.999Z".utf8)
        #expect(Timestamp.isPlain(plain.span) && !Timestamp.isPlain(plain.span.extracting(0..<23)))
        // Each byte at each place: what the quick look takes is a time of this form.
        for place in plain.indices {
            for byte in UInt8.min...UInt8.max {
                var text = plain
                text[place] = byte
                let isTime = Timestamp.time(text.span).map { time in
                    var output: [UInt8] = []
                    return Timestamp.append(time, to: &output) && output == text
                }
                #expect(Timestamp.isPlain(text.span) == (isTime ?? false), "\(text)")
            }
        }
        for (month, day) in (0...13).flatMap({ month in (0...32).map { (month, $0) } }) {
            for clock in ["00:00:00", "23:59:59", "24:00:00", "12:60:00", "12:00:60"] {
                let digits = [month, day].map { $0 < 10 ? "0\($0)" : "\($0)" }
                let text = "2024-\(digits[0])-\(digits[1])T\(clock).000Z"
                let expected = 1...12 ~= month && 1...28 ~= day && clock != "24:00:00" && !clock.contains("60")
                #expect(Timestamp.isPlain(text.utf8.span) == expected, "\(text)")
            }
        }
    }

    @Test func `every day of four centuries is parsed as it was written`() {
        // 1700 to 2100: every kind of leap year, and the years divisible by 100 that are not leap years.
        let day = 86_400 * Self.second
        var expected: Int64 = -98_615 * day
        #expect(Timestamp.format(expected) == "1700-01-01T00:00:00.000Z")
        for _ in 0..<146_097 {
            guard Timestamp.parse(Timestamp.format(expected)) == expected else {
                Issue.record("\(expected) is written as \(Timestamp.format(expected))")
                return
            }
            expected += day
        }
        #expect(Timestamp.format(expected) == "2100-01-01T00:00:00.000Z")
    }
}
