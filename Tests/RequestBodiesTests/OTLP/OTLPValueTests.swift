import Events
import Foundation
import RequestBodies
import Testing

/// How values become JSON.
@Suite struct OTLPValueTests {
    /// The JSON of an attribute with this AnyValue.
    private func json(_ value: ProtobufMessage) throws -> String {
        let line = try OTLPSample.line(OTLPSample.record.attribute(6, "v", value))
        let start = try #require(line.range(of: #""properties":{"v":"#), "\(line)")
        return String(line[start.upperBound...].dropLast(2))
    }

    private static let value = ProtobufMessage()

    @Test(
        arguments: [
            (value, "null"), (value.text(1, ""), #""""#),
            (value.text(1, "a\u{0}\u{1F}\"\\é🙂"), #""a\u0000\u001f\"\\é🙂""#),
            (value.varint(2, 0), "false"), (value.varint(2, 1), "true"), (value.varint(2, .max), "true"),
            (value.varint(3, 0), "0"), (value.varint(3, .max), "-1"),
            (value.varint(3, UInt64(Int64.max)), "9223372036854775807"),
            (value.varint(3, UInt64(Int64.max) + 1), "-9223372036854775808"),
            (value.fixed64(4, (0.0).bitPattern), "0.0"), (value.fixed64(4, (-0.0).bitPattern), "-0.0"),
            (value.fixed64(4, (1e300).bitPattern), "1e+300"), (value.fixed64(4, (0.1).bitPattern), "0.1"),
            (value.fixed64(4, Double.greatestFiniteMagnitude.bitPattern), "1.7976931348623157e+308"),
            (value.fixed64(4, 1), "5e-324"), (value.fixed64(4, Double.nan.bitPattern), #""NaN""#),
            (value.fixed64(4, .max), #""NaN""#), (value.fixed64(4, Double.infinity.bitPattern), #""Infinity""#),
            (value.fixed64(4, (-Double.infinity).bitPattern), #""-Infinity""#),
            (value.bytes(7, []), #""""#), (value.bytes(7, [0xFF]), #""/w==""#),
            (value.message(5, value), "[]"), (value.message(6, value), "{}"),
            (value.message(5, value.message(1, value).message(1, value.varint(3, 1))), "[null,1]"),
            (value.message(6, value.attribute(1, "", "")), #"{"":""}"#),
            (value.message(6, value.message(1, value)), #"{"":null}"#),
            // The last value counts; unknown fields and fields of another type are skipped.
            (value.text(1, "a").varint(3, 7), "7"), (value.varint(3, 7).varint(3, 8), "8"),
            (value.varint(3, 7).varint(8, 1).text(99, "x"), "7"), (value.varint(3, 7).varint(1, 1), "7"),
        ]) func `a value becomes JSON`(_ value: ProtobufMessage, _ expected: String) throws
    {
        #expect(try json(value) == expected)
    }

    @Test(arguments: [2, 32, 33, 34, 200]) func `if a key occurs twice, the last one counts`(_ count: Int) throws {
        var list = ProtobufMessage()
        for index in 0..<count { list = list.attribute(1, "k\(index / 2)", "\(index)") }
        let members = (0..<count).filter { $0 % 2 == 1 || $0 == count - 1 }.map { #""k\#($0 / 2)":"\#($0)""# }
        #expect(try json(ProtobufMessage().message(6, list)) == "{\(members.joined(separator: ","))}")
        var record = OTLPSample.record.attribute(6, "user.id", "u2")
        for index in 0..<count { record = record.attribute(6, "k\(index / 2)", "\(index)") }
        let line = try OTLPSample.line(record)
        #expect(line.hasSuffix(#""userId":"u2","properties":{\#(members.joined(separator: ","))}}"#))
    }

    @Test func `text that is not UTF-8 refuses its record only`() throws {
        let invalid = ProtobufMessage().bytes(1, [0x61, 0xFF])
        let records = [
            OTLPSample.record, OTLPSample.record.attribute(6, "v", invalid), OTLPSample.record.bytes(12, [0xC3]),
            OTLPSample.record.message(6, ProtobufMessage().bytes(1, [0x80])),
            OTLPSample.record.bytes(3, [0xED, 0xA0, 0x80]), OTLPSample.record.attribute(6, "log.record.uid", invalid),
        ]
        let lines = try OTLPSample.lines(OTLPSample.request(records))
        #expect(lines.items == [0])
        #expect(lines.refused.map(\.refusal.reason) == Array(repeating: .invalidUTF8, count: 5))
        #expect(OTLPSample.texts(lines).count == 1)
    }

    @Test(arguments: [
        ProtobufMessage().attribute(1, "r", ProtobufMessage().bytes(1, [0xFF])),
        ProtobufMessage().attribute(1, "service.name", ProtobufMessage().bytes(1, [0xFF])),
        ProtobufMessage().message(1, ProtobufMessage().bytes(1, [0xFF])),
    ]) func `a resource that is not UTF-8 refuses its records`(_ resource: ProtobufMessage) throws {
        let lines = try OTLPSample.lines(OTLPSample.request([OTLPSample.record], resource: resource))
        #expect(lines.refused.map(\.refusal.reason) == [.invalidUTF8])
        let scope = ProtobufMessage().bytes(1, [0xFF])
        let scoped = try OTLPSample.lines(OTLPSample.request([OTLPSample.record], scope: scope))
        #expect(scoped.refused.map(\.refusal.reason) == [.invalidUTF8])
    }
}
