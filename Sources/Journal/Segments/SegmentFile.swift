import Events
import Platform

/// The segment that is being written. It appends batches, and writes whole blocks to a disk that requires them.
///
/// Direct writes (past the page cache) need whole blocks at block offsets, from memory that is aligned to blocks.
/// Batches end anywhere. So the block in which the last batch ended is written again together with the next batch, with
/// the same bytes at its beginning: whichever version of a sector a power cut leaves, its durable bytes are unchanged.
struct SegmentFile {
    let file: any DiskFile
    /// The offset of the next batch.
    private(set) var offset: Int
    private let block: Int
    /// The bytes from the beginning of the last block to `offset`.
    private var tail: [UInt8] = []

    /// - Parameter offset: the end of the file's last batch.
    init(_ file: any DiskFile, offset: Int) throws(SystemError) {
        self.file = file
        self.offset = offset
        block = file.blockSize
        let rest = offset % block
        if rest > 0, try file.read(rest, at: offset - rest, appendingTo: &tail) < rest {
            throw SystemError.truncated("pread", file.path)
        }
    }

    /// Writes a range of the buffer at `offset` and advances `offset`.
    mutating func append(_ buffer: CommitBuffer, _ range: Range<Int>) throws(SystemError) {
        if block == 1 {
            try buffer.withBytes(range) { (bytes) throws(SystemError) in try file.write(bytes, at: offset) }
        } else if buffer.canLendBlocks(range, behind: tail.count, block: block) {
            let start = offset - tail.count
            try buffer.withBlocks(behind: tail.span, block: block) { (bytes) throws(SystemError) in
                try file.write(bytes, at: start)
            }
        } else {
            // Its offset within a block differs in memory and in the file: it is split between two segments, or a
            // segment was begun, or cursors were written, after its buffer was prepared.
            try buffer.withBytes(range) { (bytes) throws(SystemError) in try writeCopy(of: bytes) }
        }
        offset += range.count
        noteTail(buffer, range)
    }

    /// Writes a batch at `offset` and advances `offset`.
    mutating func append(_ batch: [UInt8]) throws(SystemError) {
        if block == 1 { try file.write(batch.span, at: offset) } else { try writeCopy(of: batch.span) }
        offset += batch.count
        guard block > 1 else { return }
        tail += batch
        tail.removeFirst(tail.count - offset % block)
    }

    /// Writes the last bytes of the file, at an offset after all batches.
    func writeLast(_ bytes: [UInt8], at place: Int) throws(SystemError) {
        guard block > 1 else { return try file.write(bytes.span, at: place) }
        let start = place / block * block
        let memory = AlignedMemory(count: (place - start + bytes.count + block - 1) / block * block)
        // The batches may end in this block.
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
