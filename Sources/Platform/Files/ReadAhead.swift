import CLinux
import Glibc

/// Reads a file in order, past the page cache, and has the disk read the next piece while the caller works on this one.
/// One thread at a time.
@safe final class ReadAhead: @unchecked Sendable {
    /// Bytes of a piece; two are in memory.
    private static let piece = 512 << 10

    private let reads: UInt64
    private var current = AlignedMemory(count: piece)
    /// The bytes of the file that `current` holds.
    private var held = 0..<0
    private var next = AlignedMemory(count: piece)
    /// Where the read into `next` began; nil: there is none.
    private var coming: Int?

    /// nil: the system has no room for it.
    init?() {
        reads = clinux_begin_reads()
        if reads == 0 { return nil }
    }

    // Before the memory is released.
    deinit { clinux_end_reads(reads) }

    /// Appends up to `count` bytes; fewer at the end of the file, and after an error.
    func read(_ count: Int, at offset: Int, of file: Int32, appendingTo bytes: inout [UInt8]) -> Int {
        var done = 0
        while done < count {
            let place = offset + done
            if held.contains(place) {
                let end = min(held.upperBound, offset + count)
                current.append(place - held.lowerBound..<end - held.lowerBound, to: &bytes)
                done = end - offset
                continue
            }
            take(place / AlignedMemory.alignment * AlignedMemory.alignment, of: file)
            guard held.contains(place) else { break }
        }
        return done
    }

    /// Takes the piece that begins at `start`, and asks the disk for the one after it.
    private func take(_ start: Int, of file: Int32) {
        if coming != start {
            _ = finish()
            ask(for: start, of: file)
        }
        let got = finish()
        swap(&current, &next)
        held = start..<start + max(0, got)
        if got == Self.piece { ask(for: start + Self.piece, of: file) }
    }

    private func ask(for start: Int, of file: Int32) {
        let failure = unsafe next.withPointer { unsafe clinux_start_read(reads, file, $0, Self.piece, Int64(start)) }
        coming = failure == 0 ? start : nil
    }

    /// Waits for the read in progress.
    /// - Returns: the number of bytes; 0 if there is none, or it failed.
    private func finish() -> Int {
        guard coming != nil else { return 0 }
        coming = nil
        return Int(max(0, clinux_wait_read(reads)))
    }
}
