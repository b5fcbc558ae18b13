import Events
import Platform
import Synchronization

/// The latest commits, still in memory: what a destination that keeps up reads, so that an event
/// makes its way without being read from the disk again. Any thread; the lock is held for a look-up
/// only, since a piece in use keeps its buffer alive.
final class RecentCommits: Sendable {
    /// One write's whole batches, as they lie in a segment.
    private struct Piece {
        var segment: Segment
        var offset: Int
        var range: Range<Int>
        var buffer: CommitBuffer
    }

    private struct State {
        /// Oldest first; the pieces of one buffer lie side by side.
        var pieces: [Piece] = []
        var bytes = 0
    }

    /// Pieces that are kept at most.
    private static let pieceLimit = 16

    private let byteLimit: Int
    private let state = Mutex(State())

    /// - Parameter bytes: that all pieces have at most, but for the latest.
    init(bytes: Int) {
        byteLimit = bytes
    }

    /// Keeps what was committed.
    /// - Parameters:
    ///   - offset: in the segment's file.
    ///   - range: in the buffer.
    func add(_ buffer: CommitBuffer, _ range: Range<Int>, segment: Segment, offset: Int) {
        state.withLock {
            $0.pieces.append(Piece(segment: segment, offset: offset, range: range, buffer: buffer))
            $0.bytes += range.count
        }
    }

    /// Gives the oldest buffer up, once there is more than may be kept.
    /// - Returns: nil if nothing has to go.
    func evict() -> CommitBuffer? {
        state.withLock { state in
            guard state.bytes > byteLimit || state.pieces.count > Self.pieceLimit, let oldest = state.pieces.first?.buffer
            else { return nil }
            while let piece = state.pieces.first, piece.buffer === oldest {
                state.bytes -= piece.range.count
                state.pieces.removeFirst()
            }
            return oldest
        }
    }

    /// Appends up to `count` bytes of a segment from `offset` on.
    /// - Returns: how many; 0: they are not here any more.
    func read(_ count: Int, segment: Segment, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int {
        let piece = state.withLock { state in
            state.pieces.first {
                $0.segment === segment && $0.offset <= offset && offset < $0.offset + $0.range.count
            }
        }
        guard let piece else { return 0 }
        let start = piece.range.lowerBound + offset - piece.offset
        let end = min(start + count, piece.range.upperBound)
        piece.buffer.withBytes(start..<end) { bytes.append(contentsOf: $0) }
        return end - start
    }
}
