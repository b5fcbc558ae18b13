import Events
import Glibc
import Platform

/// The segment that is being written: takes batches one after the other, and hands whole blocks to a
/// disk that wants them.
///
/// A disk written past the page cache takes whole blocks only, at a block's offset, from memory that is
/// aligned to blocks. Batches end anywhere. So the block that the last batch ended in is written
/// again, with the same bytes in front, together with the next batch: what is durable in it does
/// not change, whichever of the two versions of a sector a power cut leaves.
struct SegmentFile {
    let file: any DiskFile
    /// Where the next batch goes.
    private(set) var offset: Int
    private let block: Int
    /// The bytes between the last block's beginning and `offset`.
    private var tail: [UInt8] = []

    /// - Parameter offset: behind the file's last batch.
    init(_ file: any DiskFile, offset: Int) throws(SystemError) {
        self.file = file
        self.offset = offset
        block = file.blockSize
        let rest = offset % block
        if rest > 0, try file.read(rest, at: offset - rest, appendingTo: &tail) < rest {
            throw SystemError("pread", file.path, code: EIO)
        }
    }

    /// Writes a range of the buffer at `offset`, and moves that on.
    mutating func append(_ buffer: CommitBuffer, _ range: Range<Int>) throws(SystemError) {
        if block == 1 {
            try buffer.withBytes(range) { (bytes) throws(SystemError) in try file.write(bytes, at: offset) }
        } else if buffer.canLendBlocks(range, behind: tail.count, block: block) {
            let start = offset - tail.count
            try buffer.withBlocks(behind: tail.span, block: block) { (bytes) throws(SystemError) in
                try file.write(bytes, at: start)
            }
        } else {
            // Where a commit goes from one segment to the next, its bytes lie differently in memory.
            try buffer.withBytes(range) { (bytes) throws(SystemError) in try writeCopy(of: bytes) }
        }
        offset += range.count
        noteTail(buffer, range)
    }

    /// Writes bytes that nothing follows, at a place behind all batches.
    func writeLast(_ bytes: [UInt8], at place: Int) throws(SystemError) {
        guard block > 1 else { return try file.write(bytes.span, at: place) }
        let start = place / block * block
        let memory = AlignedMemory(count: (place - start + bytes.count + block - 1) / block * block)
        // The batches' last block may be this one.
        if offset - tail.count >= start { memory.write(tail.span, at: offset - tail.count - start) }
        memory.write(bytes.span, at: place - start)
        try file.write(memory.bytes, at: start)
    }

    private func writeCopy(of bytes: Span<UInt8>) throws(SystemError) {
        let memory = AlignedMemory(count: (tail.count + bytes.count + block - 1) / block * block)
        memory.write(tail.span, at: 0)
        memory.write(bytes, at: tail.count)
        try file.write(memory.bytes, at: offset - tail.count)
    }

    private mutating func noteTail(_ buffer: CommitBuffer, _ range: Range<Int>) {
        guard block > 1 else { return }
        let rest = offset % block
        if rest <= range.count {
            tail.removeAll(keepingCapacity: true)
            buffer.withBytes(range.upperBound - rest..<range.upperBound) { tail.append(contentsOf: $0) }
        } else {
            buffer.withBytes(range) { tail.append(contentsOf: $0) }
        }
    }
}
