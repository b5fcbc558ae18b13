import Events
import Platform
import Synchronization

/// The latest commits, still in memory: what a destination that keeps up reads, so that an event
/// makes its way without being read from the disk again. Any thread; the lock is held for a look-up
/// only, since a piece in use keeps its buffer alive.
final class RecentCommits: Sendable {
    private enum Memory {
        /// Of a small commit, so that its large buffer can be used again at once.
        case copy([UInt8])
        case buffer(CommitBuffer, start: Int)
    }

    /// One write's whole batches, as they lie in a segment.
    private struct Piece {
        var segment: Segment
        var offset: Int
        var count: Int
        var memory: Memory
        /// Bytes that it takes.
        var cost: Int {
            if case .copy(let bytes) = memory { bytes.capacity } else { count }
        }
    }

    private struct State {
        /// Oldest first.
        var pieces: [Piece] = []
        /// That the pieces take in memory.
        var bytes = 0
        /// Memory of the piece that went last, for the next copy: a steady stream of commits takes
        /// nothing from the heap.
        var unused: [UInt8] = []
    }

    /// Bytes up to which a commit is copied.
    private static let smallCommit = 256 << 10
    /// Pieces that are kept at most.
    private static let pieceLimit = 64

    private let byteLimit: Int
    private let state = Mutex(State())

    /// - Parameter bytes: that all pieces have at most, but for the latest.
    init(bytes: Int) {
        byteLimit = bytes
    }

    /// Keeps what was committed, and lets go of what is too much then.
    /// - Parameters:
    ///   - range: in the buffer.
    ///   - offset: in the segment's file.
    func add(_ buffer: CommitBuffer, _ range: Range<Int>, segment: Segment, offset: Int) {
        var memory = Memory.buffer(buffer, start: range.lowerBound)
        if range.count <= Self.smallCommit {
            var copy = state.withLock { exchange(&$0.unused, with: []) }
            // What is much too large would be missing elsewhere.
            if copy.capacity > 4 * max(range.count, 4096) { copy = [] }
            copy.removeAll(keepingCapacity: true)
            buffer.withBytes(range) { copy.append(contentsOf: $0) }
            memory = .copy(copy)
        }
        let piece = Piece(segment: segment, offset: offset, count: range.count, memory: memory)
        state.withLock { state in
            state.pieces.append(piece)
            state.bytes += piece.cost
            while state.pieces.count > 1, state.bytes > byteLimit || state.pieces.count > Self.pieceLimit {
                let oldest = state.pieces.removeFirst()
                state.bytes -= oldest.cost
                if case .copy(let bytes) = oldest.memory { state.unused = bytes }
            }
        }
    }

    /// Appends up to `count` bytes of a segment from `offset` on.
    /// - Returns: how many; 0: they are not here any more.
    func read(_ count: Int, segment: Segment, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int {
        let piece = state.withLock { state in
            state.pieces.first { $0.segment === segment && $0.offset <= offset && offset < $0.offset + $0.count }
        }
        guard let piece else { return 0 }
        let start = offset - piece.offset
        let end = min(start + count, piece.count)
        switch piece.memory {
        case .copy(let copy):
            bytes.append(contentsOf: copy.span.extracting(start..<end))
        case .buffer(let buffer, let first):
            buffer.withBytes(first + start..<first + end) { bytes.append(contentsOf: $0) }
        }
        return end - start
    }
}
