import RequestBodies
import Testing

@Suite struct OTLPResponseTests {
    private func json(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `an empty message means success`() {
        #expect(OTLPLogs.response(rejected: 0, message: "", .protobuf).isEmpty)
        #expect(OTLPLogs.response(rejected: 0, message: "unused", .protobuf).isEmpty)
        #expect(json(OTLPLogs.response(rejected: 0, message: "", .json)) == "{}")
    }

    // Lengths of messages have five bytes. The bytes were read by protobuf's library for Python.
    @Test func `refused records are a partial success`() {
        #expect(
            OTLPLogs.response(rejected: 300, message: "é", .protobuf)
                == [0x0A, 0x87, 0x80, 0x80, 0x80, 0x00, 0x08, 0xAC, 0x02, 0x12, 0x02, 0xC3, 0xA9])
        #expect(
            json(OTLPLogs.response(rejected: 300, message: "a \"name\"\n", .json))
                == #"{"partialSuccess":{"rejectedLogRecords":"300","errorMessage":"a \"name\"\n"}}"#)
        #expect(json(OTLPLogs.response(rejected: .max, message: "", .json)).contains(#""9223372036854775807""#))
        #expect(!OTLPLogs.response(rejected: .max, message: "", .protobuf).isEmpty)
    }

    @Test func `a failure is a google.rpc.Status`() {
        #expect(OTLPLogs.failure(code: 3, message: "no", .protobuf) == [0x08, 3, 0x12, 2, 0x6E, 0x6F])
        #expect(json(OTLPLogs.failure(code: 3, message: "no\u{0}", .json)) == #"{"code":3,"message":"no\u0000"}"#)
        #expect(OTLPLogs.failure(code: .max, message: "", .protobuf).prefix(6) == [0x08, 0xFF, 0xFF, 0xFF, 0xFF, 7])
        #expect(
            OTLPLogs.failure(code: .min, message: "", .protobuf).prefix(11)
                == [0x08, 0x80, 0x80, 0x80, 0x80, 0xF8, 0xFF, 0xFF, 0xFF, 0xFF, 1])
        #expect(json(OTLPLogs.failure(code: .min, message: "", .json)).contains("-2147483648"))
    }
}
