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

    /// Prepares a buffer's batches from a mark on, if possible, for `append` without a copy. Their offsets in it may
    /// change.
    func align(_ buffer: CommitBuffer, from mark: Int) {
        if block == AlignedMemory.alignment { buffer.align(from: mark, behind: tail.count) }
    }

    /// Writes a range of the buffer at `offset` and advances `offset`.
    mutating func append(_ buffer: CommitBuffer, _ range: Range<Int>) throws(SystemError) {
        let start = offset - tail.count
        if block == 1 {
            try buffer.withBytes(range) { (bytes) throws(SystemError) in try file.write(bytes, at: offset) }
        } else if buffer.canLendBlocks(range, behind: tail.count, block: block) {
            var written = 0
            try buffer.withBlocks(range, behind: tail.span, block: block) { (blocks) throws(SystemError) in
                if blocks.count > 0 { try file.write(blocks, at: start) }
                written = blocks.count
            }
            // The rest of a range that goes on in the next segment does not fill a block.
            if start + written < offset + range.count {
                let rest = max(range.lowerBound, range.lowerBound - tail.count + written)..<range.upperBound
                try buffer.withBytes(rest) { (bytes) throws(SystemError) in
                    try write(copyOf: bytes, behind: written == 0 ? tail : [], at: start + written)
                }
            }
        } else {
            try buffer.withBytes(range) { (bytes) throws(SystemError) in
                try write(copyOf: bytes, behind: tail, at: start)
            }
        }
        offset += range.count
        noteTail(buffer, range)
    }

    /// Writes a batch at `offset` and advances `offset`.
    mutating func append(_ batch: [UInt8]) throws(SystemError) {
        if block == 1 {
            try file.write(batch.span, at: offset)
        } else {
            try write(copyOf: batch.span, behind: tail, at: offset - tail.count)
        }
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

    /// Writes bytes, and those before them in their first block, at the beginning of a block.
    private func write(copyOf bytes: Span<UInt8>, behind first: [UInt8], at place: Int) throws(SystemError) {
        let memory = AlignedMemory(count: (first.count + bytes.count + block - 1) / block * block)
        memory.write(first.span, at: 0)
        memory.write(bytes, at: first.count)
        try file.write(memory.bytes, at: place)
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
