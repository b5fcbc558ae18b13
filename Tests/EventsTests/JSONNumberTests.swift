import Events
import Testing

@Suite struct JSONNumberTests {
    private func number(_ text: String) throws -> JSONNumber { try #require(JSONNumber(text)) }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("-12", -12), ("9223372036854775807", Int64.max),
            ("-9223372036854775808", Int64.min), ("9007199254740993", 9_007_199_254_740_993),
        ] as [(String, Int64)]) func `integers that fit 64 bits are exact`(_ text: String, _ value: Int64) throws
    {
        guard case .integer(value) = try number(text) else {
            Issue.record("\(text) is not the integer \(value)")
            return
        }
    }

    @Test(
        arguments: [
            ("1.5", 1.5), ("-0.0", -0.0), ("1e3", 1000), ("1E-2", 0.01), ("0.1", 0.1), ("355.86", 355.86),
            ("2.2250738585072014e-308", .leastNormalMagnitude), ("1.7976931348623157e308", .greatestFiniteMagnitude),
            ("123456789012345678901234567890", 1.2345678901234568e29),
            ("1e400", .infinity), ("-1e400", -.infinity), ("1e-400", 0), ("1e99999999999999999999", .infinity),
            ("9007199254740993.0", 9_007_199_254_740_992), ("123456789.123456789e-5", 1234.56789123456789),
        ] as [(String, Double)]) func `other numbers become the nearest double`(_ text: String, _ value: Double) throws
    {
        let read = try number(text)
        guard case .real(let double) = read else {
            Issue.record("\(text) is not a Double")
            return
        }
        #expect(double == value)
        #expect(read.double == value)
    }

    @Test(arguments: [
        "", "-", "01", "+1", "1.", ".5", "1e", "1e+", "1 ", " 1", "0x1", "nan", "inf", "1_0", "1,5", "--1", "1.2.3",
        "e5",
    ]) func `text that is not a JSON number is refused`(_ text: String) {
        #expect(JSONNumber(text) == nil)
    }

    @Test(arguments: [
        ("1", "1.0"), ("1", "10e-1"), ("0", "-0.0"), ("9007199254740992", "9007199254740992.0"),
        ("-9223372036854775808", "-9223372036854775808.0"), ("9223372036854775808", "0.9223372036854775808e19"),
    ]) func `numbers of equal value are equal however they are written`(_ a: String, _ b: String) throws {
        #expect(try number(a) == number(b))
        #expect(try number(b) == number(a))
        #expect(try !(number(a) < number(b)) && !(number(b) < number(a)))
    }

    @Test(arguments: [
        ("1", "2"), ("1", "1.5"), ("-1.5", "-1"), ("9007199254740992.0", "9007199254740993"),
        ("9007199254740993", "9007199254740994.0"), ("9223372036854775807", "9223372036854775808"),
        ("9223372036854775807", "1e400"), ("-1e400", "-9223372036854775808"), ("9007199254740992", "9007199254740993"),
        ("18446744073709551614", "18446744073709551615"), ("-1", "18446744073709551615"),
        ("18446744073709551615", "18446744073709551616"),
        ("9223372036854775807.0", "9223372036854775809"), ("9223372036854775809", "1e400"),
        ("-1e400", "9223372036854775809"),
    ]) func `numbers are ordered by value`(_ small: String, _ large: String) throws {
        #expect(try number(small) < number(large))
        #expect(try !(number(large) < number(small)))
        #expect(try number(small) != number(large))
    }
}
