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
        buffer.add(json.span, events.span, from: Self.origin, position: 0)
        return buffer
    }

    @Test(arguments: [true, false], [true, false]) func `batches follow each other without gaps`(
        memoryFits: Bool, aligns: Bool
    ) throws {
        let disk = MemoryDisk()
        var file = try SegmentFile(try disk.openDirect("/j/x.seg", .createNew), offset: 0)
        var expected: [UInt8] = []
        for (number, size) in [1, 100, 4000, 4096, 5000, 8, 12_288, 3000, 20_000].enumerated() {
            // A buffer that is not aligned to the file's blocks is moved, or copied once more.
            let buffer = commit(size, UInt8(65 + number), at: memoryFits ? file.offset : file.offset + 8)
            if aligns { file.align(buffer, from: 0) }
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

    /// The first batches of the buffer follow others in a segment, the rest begins the next one. Neither is copied,
    /// wherever the buffer was prepared to be written.
    @Test(arguments: [0, 8, 4088], [0, 8, 5000]) func `a commit is split between two segments`(
        before: Int, preparedFor: Int
    ) throws {
        let disk = MemoryDisk()
        var first = try SegmentFile(try disk.openDirect("/j/1.seg", .createNew), offset: 0)
        var second = try SegmentFile(try disk.openDirect("/j/2.seg", .createNew), offset: 0)
        let filler = [UInt8](repeating: 70, count: before)
        if before > 0 { try first.append(filler) }
        let buffer = commit(6000, 65, at: preparedFor)
        let json = [UInt8](repeating: 66, count: 9000)
        let events = [ScannedEvent(offset: 0, length: 9000, index: EventIndex(kind: .track))]
        let other = Origin(source: "others", uid: 1, gid: 2, pid: 3)
        buffer.add(json.span, events.span, from: other, position: 1)
        let (middle, end) = (buffer.marks[0].end, buffer.count)
        let whole = buffer.withBytes(0..<end) { bytes in bytes.indices.map { bytes[$0] } }

        first.align(buffer, from: 0)
        #expect(buffer.canLendBlocks(0..<middle, behind: before, block: 4096))
        try first.append(buffer, 0..<middle)
        let lent = unsafe buffer.bytes(0..<middle)

        second.align(buffer, from: 1)
        let rest = buffer.marks[1].offset..<buffer.marks[1].end
        #expect(rest.count == end - middle && rest.upperBound == buffer.count)
        #expect(buffer.canLendBlocks(rest, behind: 0, block: 4096))
        try second.append(buffer, rest)
        #expect(unsafe lent.elementsEqual(whole[..<middle]), "what readers have borrowed is unchanged")

        var written: [UInt8] = []
        _ = try first.file.read(1 << 20, at: 0, appendingTo: &written)
        #expect(Array(written.prefix(before + middle)) == filler + whole[..<middle])
        #expect(first.offset == before + middle)
        written = []
        _ = try second.file.read(1 << 20, at: 0, appendingTo: &written)
        #expect(Array(written.prefix(end - middle)) == Array(whole[middle...]))
        #expect(second.offset == end - middle)
    }

    @Test func `a buffer without room to move is written as it is`() throws {
        let disk = MemoryDisk()
        let buffer = commit(60_000, 65, at: 0)
        // Each batch begins a segment.
        while buffer.append(cursors: [UInt8](repeating: 9, count: 8)) {}
        var copied = 0
        for mark in buffer.marks.indices {
            var file = try SegmentFile(try disk.openDirect("/j/\(mark).seg", .createNew), offset: 0)
            file.align(buffer, from: mark)
            let range = buffer.marks[mark].offset..<buffer.marks[mark].end
            let bytes = buffer.withBytes(range) { bytes in bytes.indices.map { bytes[$0] } }
            if !buffer.canLendBlocks(range, behind: 0, block: 4096) { copied += 1 }
            try file.append(buffer, range)
            var written: [UInt8] = []
            _ = try file.file.read(1 << 20, at: 0, appendingTo: &written)
            #expect(Array(written.prefix(range.count)) == bytes)
        }
        #expect(copied > 0)
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
