import Events
import Platform
import Testing

@testable import Journal

/// Commits of any size are written as whole blocks, and the file contains exactly their bytes.
@Suite struct SegmentFileTests {
    private static let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)

    private func commit(_ size: Int, _ byte: UInt8, at offset: Int) -> CommitBuffer {
        let buffer = CommitBuffer(capacity: 64 << 10, limits: BatchLimits(segmentSize: 1 << 20))
        buffer.removeAll(forOffset: offset)
        let json = [UInt8](repeating: byte, count: size)
        let events = [
            ScannedEvent(offset: 0, length: UInt32(size), index: EventIndex(kind: .track), line: 0)
        ]
        buffer.append(json.span, events.span, from: Self.origin, position: 0, receivedAt: 0)
        return buffer
    }

    @Test(arguments: [true, false]) func `batches follow each other without gaps`(memoryFits: Bool) throws {
        let disk = MemoryDisk()
        var file = try SegmentFile(try disk.openDirect("/j/x.seg", .createNew), offset: 0)
        var expected: [UInt8] = []
        for (number, size) in [1, 100, 4000, 4096, 5000, 8, 12_288, 3000, 20_000].enumerated() {
            // If the buffer is not aligned to the file's blocks, the bytes are copied once more.
            let buffer = commit(size, UInt8(65 + number), at: memoryFits ? file.offset : file.offset + 8)
            try file.append(buffer, 0..<buffer.count)
            buffer.withBytes(0..<buffer.count) { expected.append(contentsOf: $0) }
            #expect(file.offset == expected.count)
        }
        var written: [UInt8] = []
        _ = try file.file.read(1 << 20, at: 0, appendingTo: &written)
        #expect(Array(written.prefix(expected.count)) == expected)
        #expect(written.dropFirst(expected.count).allSatisfy { $0 == 0 }, "zeros fill the last block")

        // A second file continues in the middle of a block.
        var again = try SegmentFile(try disk.openDirect("/j/x.seg", .readWrite), offset: expected.count)
        let buffer = commit(50, 90, at: memoryFits ? again.offset : 0)
        try again.append(buffer, 0..<buffer.count)
        buffer.withBytes(0..<buffer.count) { expected.append(contentsOf: $0) }
        written = []
        _ = try again.file.read(1 << 20, at: 0, appendingTo: &written)
        #expect(Array(written.prefix(expected.count)) == expected)
    }

    @Test func `the seal can share its block with the last batch`() throws {
        let disk = MemoryDisk()
        var file = try SegmentFile(try disk.openDirect("/j/x.seg", .createNew), offset: 0)
        let buffer = commit(5000, 65, at: 0)
        try file.append(buffer, 0..<buffer.count)
        try file.writeLast([UInt8](repeating: 83, count: 128), at: 8192 - 128)
        var written: [UInt8] = []
        _ = try file.file.read(8192, at: 0, appendingTo: &written)
        var batch: [UInt8] = []
        buffer.withBytes(0..<buffer.count) { batch.append(contentsOf: $0) }
        #expect(Array(written.prefix(batch.count)) == batch)
        #expect(written.suffix(128).allSatisfy { $0 == 83 })
    }
}
