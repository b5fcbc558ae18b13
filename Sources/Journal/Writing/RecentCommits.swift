import Events
import Platform
import Synchronization

/// The latest commits, in memory. A destination that keeps up reads them here, so its events are never read from the
/// disk. Any thread. The lock is held for a look-up only, because a piece in use keeps its buffer alive.
final class RecentCommits: Sendable {
    private enum Memory {
        /// A copy of a small commit, so that its large buffer can be reused at once.
        case copy([UInt8])
        case buffer(CommitBuffer, start: Int)
    }

    /// The whole batches of one write, as they lie in a segment.
    private struct Piece {
        var segment: Segment
        var offset: Int
        var count: Int
        var memory: Memory
        /// The bytes of memory that the piece takes: a buffer as a whole.
        var cost: Int {
            switch memory {
            case .copy(let bytes): bytes.capacity
            case .buffer(let buffer, _): buffer.capacity
            }
        }
    }

    private struct State {
        /// Oldest first.
        var pieces: [Piece] = []
        /// The bytes of memory that all pieces take.
        var bytes = 0
        /// The memory of the last evicted piece, reused for the next copy: a steady stream of commits allocates
        /// nothing.
        var unused: [UInt8] = []
    }

    private let byteLimit: Int
    private let smallCommit: Int
    private let pieceLimit: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - bytes: the limit for all pieces together; the latest piece is kept even above it.
    ///   - smallCommit: a commit of up to this many bytes is copied.
    ///   - pieces: the maximum number of pieces.
    init(bytes: Int, smallCommit: Int, pieces: Int = 256) {
        pieceLimit = pieces
        byteLimit = bytes
        self.smallCommit = smallCommit
    }

    /// Adds a commit and evicts the oldest pieces above the limits.
    /// - Parameters:
    ///   - range: in the buffer.
    ///   - offset: in the segment's file.
    func add(_ buffer: CommitBuffer, _ range: Range<Int>, segment: Segment, offset: Int) {
        var memory = Memory.buffer(buffer, start: range.lowerBound)
        if range.count <= smallCommit {
            var copy = state.withLock { exchange(&$0.unused, with: []) }
            // A copy with much more memory than it needs would take memory from other pieces.
            if copy.capacity > 4 * max(range.count, 4096) { copy = [] }
            copy.removeAll(keepingCapacity: true)
            buffer.withBytes(range) { copy.append(contentsOf: $0) }
            memory = .copy(copy)
        }
        let piece = Piece(segment: segment, offset: offset, count: range.count, memory: memory)
        state.withLock { state in
            state.pieces.append(piece)
            state.bytes += piece.cost
            while state.pieces.count > 1, state.bytes > byteLimit || state.pieces.count > pieceLimit {
                let oldest = state.pieces.removeFirst()
                state.bytes -= oldest.cost
                if case .copy(let bytes) = oldest.memory { state.unused = bytes }
            }
        }
    }

    /// Appends up to `count` bytes of a segment from `offset` on.
    /// - Returns: the number of bytes; 0 if they were evicted.
    func read(_ count: Int, segment: Segment, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int {
        let piece = state.withLock { state in
            // From the newest one on: most readers keep up.
            state.pieces.last { $0.segment === segment && $0.offset <= offset && offset < $0.offset + $0.count }
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
