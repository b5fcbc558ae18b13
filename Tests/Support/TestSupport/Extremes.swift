/// Extreme texts for places where a number, a time, a size or a duration is expected: the ends of each type, the values
/// on both sides of them, and texts that only look like one. Tests try each of them at each place.
package enum Extremes {
    package static let integers = [
        "-99999999999999999999999999", "-9223372036854775809", "-9223372036854775808", "-9223372036854775807", "-1",
        "-0", "0", "1",
        "2147483648", "4294967296", "9007199254740993", "9223372036854775806", "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615", "18446744073709551616", "99999999999999999999999999",
    ]

    /// JSON allows only those with digits.
    package static let fractions = [
        "0.5", "-0.5", "1e-400", "9.3e18", "1.9e19", "1e308", "-1e308", "1e400", "-1e400", "1e9223372036854775807",
    ]
    package static let words = [
        "NaN", "nan", ".nan", "inf", "-inf", ".inf", "Infinity", "0x7fffffffffffffff", "0xffffffffffffffff", "+1",
        "1_000", "",
    ]

    /// JSON numbers.
    package static let numbers = integers + fractions

    package static let durations = [
        "0", "0s", "-1s", "1ms", "1.5h", "1e3s", "NaNs", "1y", "9223372036854ms", "9223372036855ms",
        "9223372036854775807ms", "9223372036s",
        "9223372037s", "9223372036854775807s", "9223372036854775808s", "153722867m", "153722868m", "2562047h",
        "2562048h", "106751d",
        "106752d", "9223372036854775807d", "99999999999999999999d",
    ]

    package static let sizes = [
        "0", "-1", "1B", "1.5KiB", "9223372036854775807", "9223372036854775808", "9007199254740991KiB",
        "9007199254740992KiB",
        "8388607TiB", "8388608TiB", "8191PiB", "8192PiB", "9223372036854775807PiB", "18446744073709551616PiB",
        "-9223372036854775808PiB",
    ]

    /// RFC 3339 times, valid and nearly valid.
    package static let times = [
        "0000-01-01", "0001-01-01T00:00:00Z", "1600-01-01", "1600-01-01T00:00:00Z", "1677-09-21T00:12:43Z",
        "1677-09-21T00:12:44Z",
        "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z", "2016-12-31T23:59:60Z",
        "2262-04-11T23:47:16.854775807Z",
        "2262-04-11T23:47:17Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:60Z", "9999-12-31T24:00:00-23:59",
        "0000-01-01T00:00:00+23:59", "2026-01-01T00:00:00-23:59", "2026-01-01T00:00:00+24:00", "10000-01-01T00:00:00Z",
        "99999-01-01",
        "-0001-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-13-01", "2026-01-01T25:00:00Z",
        "2026-01-01T00:00:00.999999999999999999999999999999Z",
    ]

    /// HTTP dates (RFC 9110, 5.6.7), valid and nearly valid.
    package static let dates = [
        "Mon, 01 Jan 0001 00:00:00 GMT", "Sat, 01 Jan 1600 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Fri, 31 Dec 9999 23:59:60 GMT", "Sat, 01 Jan 10000 00:00:00 GMT", "Fri, 31 Dec 99999999999 23:59:59 GMT",
        "Tue, 19 Jan 2038 03:14:08 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 2094 08:49:37 +2359",
        "Sun, 06 Nov 2094 08:49:37 -9999",
    ]

    /// All of them.
    package static let all = integers + fractions + words + durations + sizes + times + dates
}
