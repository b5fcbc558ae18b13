import Testing

@testable import RequestBodies

@Suite struct ProtobufReaderTests {
    private func fields(_ bytes: [UInt8], in range: Range<Int>? = nil) throws(ProtobufFault) -> [String] {
        var reader = ProtobufReader(bytes.span, in: range ?? 0..<bytes.count)
        var found: [String] = []
        while let field = try reader.next() { found.append("\(field.number) \(field.value)") }
        return found
    }

    @Test func `fields of every type are read in their order`() throws {
        let message = ProtobufMessage().varint(1, 150).fixed64(2, .max).text(3, "abc").fixed32(4, 7)
        #expect(
            try fields(message.bytes) == [
                "1 varint(150)", "2 fixed64(18446744073709551615)", "3 bytes(Range(14..<17))", "4 fixed32(7)",
            ])
        #expect(try fields([]).isEmpty)
    }

    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, UInt64(Int64.max), UInt64(Int64.max) + 1, .max])
    func `a varint holds every number of 64 bits`(_ value: UInt64) throws {
        #expect(try fields(ProtobufMessage().varint(1, value).bytes) == ["1 varint(\(value))"])
    }

    @Test func `a varint may have leading zeros, and at most ten bytes`() throws {
        #expect(try fields([0x08, 0x81, 0x80, 0x00]) == ["1 varint(1)"])
        let ones = [UInt8](repeating: 0xFF, count: 9)
        #expect(try fields([0x08] + ones + [0x01]) == ["1 varint(18446744073709551615)"])
        for tooLong in [ones + [0x02], ones + [0x81, 0x00], ones + [0xFF, 0x01]] {
            #expect(throws: ProtobufFault(kind: .varintTooLong, position: 1)) { try fields([0x08] + tooLong) }
        }
    }

    @Test func `field numbers end at 29 bits`() throws {
        #expect(try fields(ProtobufMessage().varint(536_870_911, 1).bytes) == ["536870911 varint(1)"])
        for number: UInt64 in [0, 536_870_912, .max >> 3] {
            #expect(throws: ProtobufFault(kind: .invalidFieldNumber, position: 0)) {
                try fields(ProtobufMessage().varint(number, 1).bytes)
            }
        }
    }

    @Test(arguments: [3, 4, 6, 7] as [UInt8]) func `groups and unknown wire types are refused`(_ type: UInt8) {
        #expect(throws: ProtobufFault(kind: .wireType(type), position: 2)) { try fields([0x10, 0x01, 0x08 | type, 0]) }
    }

    @Test(
        arguments: [
            [0x08], [0x08, 0x80], [0x80], [0x09, 1, 2, 3, 4, 5, 6, 7], [0x0D, 1, 2, 3], [0x0A], [0x0A, 1],
            [0x0A, 0x80],
        ] as [[UInt8]]) func `a field that is cut off is refused`(_ bytes: [UInt8])
    {
        let fault = #expect(throws: ProtobufFault.self) { try fields(bytes) }
        #expect(fault?.kind == .truncated)
    }

    @Test(arguments: [1, UInt64(Int32.max), UInt64(Int64.max), UInt64(Int64.max) + 1, .max])
    func `a length is never believed`(_ length: UInt64) {
        #expect(throws: ProtobufFault(kind: .truncated, position: 0)) {
            try fields([0x0A] + ProtobufMessage.varint(length))
        }
    }

    @Test func `a message ends where its range ends, not where the bytes end`() throws {
        let bytes = ProtobufMessage().text(1, "ab").varint(2, 5).bytes
        #expect(try fields(bytes, in: 0..<4) == ["1 bytes(Range(2..<4))"])
        #expect(throws: ProtobufFault(kind: .truncated, position: 0)) { try fields(bytes, in: 0..<3) }
        #expect(try fields(bytes, in: 4..<6) == ["2 varint(5)"])
    }

    @Test func `the writer's fields are read again`() throws {
        var output: [UInt8] = []
        let start = ProtobufWriter.begin(field: 1, in: &output)
        ProtobufWriter.append(.max, field: 1, to: &output)
        ProtobufWriter.append([1, 2, 3], field: 16, to: &output)
        ProtobufWriter.append(fixed32: .max, field: 3, to: &output)
        ProtobufWriter.append(fixed64: .max, field: 4, to: &output)
        ProtobufWriter.end(start, in: &output)
        #expect(try fields(output) == ["1 bytes(Range(6..<\(output.count)))"])
        #expect(
            try fields(output, in: 6..<output.count) == [
                "1 varint(18446744073709551615)", "16 bytes(Range(20..<23))", "3 fixed32(4294967295)",
                "4 fixed64(18446744073709551615)",
            ])
    }
}
