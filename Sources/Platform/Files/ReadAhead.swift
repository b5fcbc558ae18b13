import CLinux
import Glibc

/// Reads files in order, past the page cache, and has the disk read the next pieces while the caller works on this one.
/// One thread at a time. Made once for many files, because the kernel takes long to release it; it holds 1.5 MiB.
@safe package final class ReadAhead: @unchecked Sendable {
    /// Bytes of a piece.
    private static let piece = 512 << 10
    /// Pieces that are read ahead. With one, the disk would be idle while the thread wakes up.
    private static let depth = 2

    private struct Buffer {
        var memory = AlignedMemory(count: piece)
        /// Where its read began.
        var start = 0
        /// The bytes that were read; nil: the read is in progress.
        var count: Int?
    }

    private let reads: UInt64
    private var buffers = (0...depth).map { _ in Buffer() }
    /// Indices of buffers in the file's order: the first one is whole, the others are ahead of it.
    private var order: [Int] = []
    /// The file that they belong to.
    private var owner: ObjectIdentifier?

    /// nil: the system has no room for it.
    init?() {
        reads = clinux_begin_reads(UInt32(Self.depth + 1))
        if reads == 0 { return nil }
    }

    // Before the memory is released.
    deinit { clinux_end_reads(reads) }

    /// Appends up to `count` bytes; fewer at the end of the file, and after an error.
    /// - Parameter owner: identifies the file while it is open.
    func read(
        _ count: Int, at offset: Int, of file: Int32, _ owner: ObjectIdentifier, appendingTo bytes: inout [UInt8]
    ) -> Int {
        if self.owner != owner { forget() }
        self.owner = owner
        var done = 0
        while done < count {
            let place = offset + done
            guard let first = piece(with: place, of: file) else { break }
            let start = place - buffers[first].start
            let end = min(buffers[first].count ?? 0, start + count - done)
            buffers[first].memory.append(start..<end, to: &bytes)
            done += end - start
        }
        return done
    }

    /// Ends all reads. Call it before the file is closed: another file may get its number, and its identity.
    package func forget() {
        endReads()
        owner = nil
    }

    private func endReads() {
        while let index = order.popLast() { finish(index) }
    }

    /// The index of the whole piece that holds a place; nil: it cannot be read.
    private func piece(with place: Int, of file: Int32) -> Int? {
        while let first = order.first, place >= buffers[first].start {
            finish(first)
            let count = buffers[first].count ?? 0
            if place < buffers[first].start + count { return first }
            // The file ends here, or the read failed.
            if count < Self.piece { return nil }
            order.removeFirst()
            if let last = order.last { ask(for: buffers[last].start + Self.piece, of: file) }
        }
        // Somewhere else: begin there.
        endReads()
        let start = place / AlignedMemory.alignment * AlignedMemory.alignment
        for number in 0...Self.depth { ask(for: start + number * Self.piece, of: file) }
        guard let first = order.first else { return nil }
        finish(first)
        return place < buffers[first].start + (buffers[first].count ?? 0) ? first : nil
    }

    private func ask(for start: Int, of file: Int32) {
        guard let index = buffers.indices.first(where: { !order.contains($0) }) else { return }
        let failure = unsafe buffers[index].memory.withPointer {
            unsafe clinux_start_read(reads, UInt64(index), file, $0, Self.piece, Int64(start))
        }
        guard failure == 0 else { return }
        buffers[index].start = start
        buffers[index].count = nil
        order.append(index)
    }

    /// Waits until a piece is whole.
    private func finish(_ index: Int) {
        while buffers[index].count == nil {
            var result: Int64 = 0
            let done = Int(unsafe clinux_wait_read(reads, &result))
            buffers[done].count = Int(max(0, result))
        }
    }
}
