import Events
import Platform
import Testing

@testable import Journal

@Suite struct FormatTests {
    @Test func `the checksum is CRC32C`() {
        #expect(Checksum.of(Array("123456789".utf8).span.raw) == 0xE306_9283)
        #expect(Checksum.of([UInt8]().span.raw) == 0)
        // RFC 3720, B.4: 32 bytes of zeros.
        #expect(Checksum.of([UInt8](repeating: 0, count: 32).span.raw) == 0x8A91_36AA)
    }

    @Test func `the checksum of several pieces equals that of the whole`() {
        var checksum = Checksum()
        checksum.update(Array("1234".utf8).span.raw)
        checksum.update(Array("56789".utf8).span.raw)
        #expect(checksum.value == 0xE306_9283)
        var number = Checksum()
        number.update(0x0102_0304_0506_0708)
        #expect(number.value == Checksum.of([8, 7, 6, 5, 4, 3, 2, 1].span.raw))
    }

    /// A program in another language computed these bytes from the description of the format. They
    /// never change.
    @Test func `a segment has the bytes that the description of the format specifies`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let uuid = try #require(JournalUUID(bytes: Array(0..<16)))
        try disk.open("/journal/manifest", .createNew).write(Manifest(uuid: uuid).encoded.span, at: 0)
        let journal = try rig.open()
        try append(journal, ["{\"type\":\"track\",\"event\":\"A\",\"userId\":\"u\"}"])
        journal.stop()
        let bytes = try rig.bytes(rig.path("00000000000000000000.seg"))
        #expect(bytes.count == 64 << 10)
        let hex = bytes.prefix(GoldenSegment.hex.count / 2).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
        #expect(hex == GoldenSegment.hex)
        #expect(bytes.dropFirst(GoldenSegment.hex.count / 2).allSatisfy { $0 == 0 })
    }

    @Test func `a batch header is valid only at its own offset, in its own segment and journal`() {
        let uuid = JournalUUID(bytes: Array(0..<16))!
        let header = BatchHeader(
            kind: 1, payloadLength: 8, count: 1, firstPosition: 7, durablePosition: 3, receivedAt: -1)
        let seed = ChecksumSeed(uuid: uuid, firstPosition: 5)
        let bytes = BatchHeader.batch(header, payload: [1, 2, 3, 4, 5, 6, 7, 8], seed.at(64))
        let back = BatchHeader(bytes.span.raw, at: 0, seed.at(64))
        #expect(back?.firstPosition == 7)
        #expect(back?.payloadIsIntact(in: bytes.span.raw, headerAt: 0, seed.at(64)) == true)
        #expect(BatchHeader(bytes.span.raw, at: 0, seed.at(72)) == nil)
        #expect(BatchHeader(bytes.span.raw, at: 0, ChecksumSeed(uuid: uuid, firstPosition: 6).at(64)) == nil)
        let other = JournalUUID(bytes: Array(1..<17))!
        #expect(BatchHeader(bytes.span.raw, at: 0, ChecksumSeed(uuid: other, firstPosition: 5).at(64)) == nil)
    }

    @Test func `every flipped bit of a batch is detected`() {
        let seed = ChecksumSeed(uuid: JournalUUID(bytes: Array(0..<16))!, firstPosition: 0)
        let header = BatchHeader(
            kind: 1, payloadLength: 9, count: 1, firstPosition: 0, durablePosition: 0, receivedAt: 0)
        let good = BatchHeader.batch(header, payload: [9, 8, 7, 6, 5, 4, 3, 2, 1], seed.at(0))
        for bit in 0..<(64 + 9) * 8 {
            var bytes = good
            bytes[bit / 8] ^= 1 << (bit % 8)
            let found = BatchHeader(bytes.span.raw, at: 0, seed.at(0))
            let isWhole = found?.payloadIsIntact(in: bytes.span.raw, headerAt: 0, seed.at(0)) ?? false
            #expect(!isWhole, "bit \(bit)")
        }
    }

    @Test func `the names of segments sort like their positions`() {
        #expect(Segment.name(0) == "00000000000000000000.seg")
        #expect(Segment.position(ofName: Segment.name(.max)) == .max)
        #expect(Segment.name(9) < Segment.name(10))
        for name in [
            "spare", "0.seg", "0000000000000000000x.seg", "99999999999999999999.seg", "00000000000000000000.sega",
        ] {
            #expect(Segment.position(ofName: name) == nil, "\(name)")
        }
    }

    @Test func `a manifest is decoded as it was encoded, and damage is detected`() throws {
        var manifest = Manifest(uuid: JournalUUID(bytes: Array(0..<16))!)
        manifest.starts = ["a": 0, "with space": 12]
        let bytes = manifest.encoded
        #expect(Manifest(bytes) == manifest)
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(Manifest(damaged) == nil, "byte \(index)")
            #expect(Manifest(Array(bytes.prefix(index))) == nil, "\(index) bytes")
        }
    }

    @Test func `a UUID is parsed from its text`() {
        let uuid = JournalUUID(bytes: Array(240...255))!
        #expect(uuid.description == "f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff")
        #expect(JournalUUID(uuid.description) == uuid)
        #expect(JournalUUID("f0f1f2f3") == nil)
        #expect(JournalUUID("g0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff") == nil)
    }
}
