import Events
import Testing

/// One JSON text, and what admission must do with it.
struct JSONCase: Sendable, CustomTestStringConvertible {
    enum Expected: Sendable, Equatable {
        case accepted
        case refused(RefusalReason)
    }

    /// Bytes, because some cases are not UTF-8.
    var bytes: [UInt8]
    var expected: Expected

    var testDescription: String { String(decoding: bytes, as: UTF8.self).debugDescription }

    static func accepts(_ texts: String...) -> [JSONCase] {
        texts.map { JSONCase(bytes: Array($0.utf8), expected: .accepted) }
    }

    static func refuses(_ reason: RefusalReason = .invalidJSON, _ texts: String...) -> [JSONCase] {
        texts.map { JSONCase(bytes: Array($0.utf8), expected: .refused(reason)) }
    }

    static func bytes(_ expected: Expected, _ contents: [UInt8]...) -> [JSONCase] {
        contents.map { JSONCase(bytes: [0x22] + $0 + [0x22], expected: expected) }
    }
}

extension JSONCase {
    /// Values: each case stands in the place of a property's value.
    static let values = numbers + literals + strings + encodings + containers + whiteSpace

    private static let zeros = String(repeating: "0", count: 1000)
    private static let nines = String(repeating: "9", count: 1000)

    private static let numbers =
        accepts(
            "0", "-0", "0.0", "-0.0", "1", "-1", "10", "1e0", "0e0", "0e+1", "0E-1", "1E5", "1e05", "1.0e+00",
            "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
            "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1.7976931348623157e308",
            "1.7976931348623159e308", "4.9e-324", "1e-400", "1e400", "-1e400", "1e99999999999999999999",
            "1e-99999999999999999999", "0.1\(zeros)1", nines, "-\(nines)", "1.\(nines)", "1e\(nines)")
        + refuses(
            .invalidJSON, "-", "+1", "--1", "-+1", "01", "-01", "00", "0.", "1.", ".1", "-.1", "1.e1", "1e", "1e+",
            "1E-", "1e1.5", "1e1e1", "1.1.1", "0x1F", "0b1", "0o7", "1_000", "1,000.0,", "1a", "1-", "1+1", "0 1",
            "- 1", "NaN", "-NaN", "Infinity", "-Infinity", "inf", "١", "１")

    private static let literals =
        accepts("true", "false", "null")
        + refuses(
            .invalidJSON, "True", "TRUE", "tru", "truex", "true1", "nul", "nulll", "Null", "fals", "falsee",
            "undefined", "true false", "nil", "None")

    private static let strings =
        accepts(
            #""""#, #"" ""#, #""\"""#, #""\\""#, #""\/""#, #""/""#, #""\b\f\n\r\t""#, #""\u0000""#, #""\u0001""#,
            #""\u001f""#, #""\u0022""#, #""\u005C""#, #""\uabcd\uABCD""#, #""\uFFFD""#, #""\uFFFE""#, #""\uffff""#,
            #""\ufdd0""#, #""\ud7ff\ue000""#, #""\ud800\udc00""#, #""\uDBFF\uDFFF""#, #""\ud83d\ude00""#,
            #""\u2028\u2029""#, #""\\u0041""#, #""\\\\""#, #""\\\"""#, #""{[,:]}""#, #""// not a comment""#,
            "\"\u{7f}\"", "\"\u{80}\u{9f}\"", "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"", "\"\u{FFFE}\u{FFFF}\"",
            "\"\u{10000}\"", "\"é\u{301}\u{200D}\u{202E}\"")
        + refuses(
            .invalidJSON, "\"", #""\""#, #""\\\""#, "'a'", "`a`", #""\a""#, #""\v""#, #""\x41""#, #""\0""#, #""\'""#,
            #""\u""#, #""\u1""#, #""\u12""#, #""\u123""#, #""\u123g""#, #""\U0041""#, #""\u{41}""#, #""\u+123""#,
            #""\u 123""#, "\"\\\u{1}\"", "\"\\é\"", "\"\0\"", "\"\t\"", "\"\r\"", "\"\u{1f}\"", "\"a\u{b}\"",
            #"\u0041"#, #"\"a\""#, "a", #""a""b""#, #"“a”"#, #""\ud800""#, #""\udc00""#, #""\ud800a""#, #""\ud800\n""#,
            #""\ud800\u0041""#, #""\ud800\ud800""#, #""\udc00\ud800""#, #""\ud800\u""#, #""\udbff\udbff\udfff\udfff""#)

    /// The contents of strings, as bytes.
    private static let encodings =
        bytes(
            .accepted, [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80],
            [0xEF, 0xB7, 0x90], [0xEF, 0xBF, 0xBF], [0xF0, 0x9F, 0xBF, 0xBE], [0xF0, 0x90, 0x80, 0x80],
            [0xF4, 0x8F, 0xBF, 0xBF])
        + bytes(
            .refused(.invalidUTF8), [0x80], [0xBF], [0xC2], [0xC2, 0x41], [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF],
            [0xE0, 0x80, 0xAF], [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xED, 0xA0, 0x80],
            [0xED, 0xAF, 0xBF, 0xED, 0xBF, 0xBF], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0xAF],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF],
            [0xFF, 0xFE, 0x41])

    private static let containers =
        accepts(
            "[]", "{}", "[[]]", "[{}]", #"{"":0}"#, #"{"a":{"a":{"a":[]}}}"#, #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#,
            #"{"\u0000":null}"#, "[0,1]", "[[],[[]],{}]", #"["a",1,true,null,{"b":[]}]"#)
        + refuses(
            .invalidJSON, "[", "]", "{", "}", "[}", "{]", "[[]", "[]]", "{}}", "[,]", "[1,]", "[,1]", "[1,,2]", "[1 2]",
            "[1:2]", "[1;2]", "(1)", "{,}", #"{"a"}"#, #"{"a":}"#, "{:1}", #"{"a":1,}"#, #"{,"a":1}"#,
            #"{"a":1,,"b":2}"#, #"{"a":1 "b":2}"#, #"{"a" 1}"#, #"{"a"=1}"#, #"{"a"::1}"#, #"{"a":1:2}"#, "{a:1}",
            "{'a':1}", "{1:1}", "{null:1}", "{[]:1}", #"{"a":1};"#, "[1]x", "[1]//", "/**/1", "1/**/", "#1", "")

    /// All four kinds of white space. A line feed ends the line, and so the event is cut.
    private static let whiteSpace =
        accepts(" 1 ", "\t1\t", "\r1\r", " \t\r 1 \r\t ", "[ \t]", "{\r}", "[\t1\r,\t2 ]", "{ \"a\"\t:\r1 }")
        + refuses(
            .invalidJSON, "\u{c}1", "\u{b}1", "\u{a0}1", "\u{85}1", "\u{2028}1", "\u{2003}1", "\u{3000}1", "\u{FEFF}1",
            "\u{200B}1", "\01", "1\0", "\u{8}1", "tr ue", "1 .5", "- 1", "1e 5", "\"\\u 0041\"", "\"\\ n\"")
}
