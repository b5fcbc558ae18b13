import Events
import Platform

/// The latest commits, in memory. A destination that keeps up reads them here, so its events are never read from the
/// disk; and it borrows them, so they are not copied. Any thread. The lock is held for a look-up only.
final class RecentCommits: Sendable {
    /// The whole batches of one write, as they lie in a segment.
    private struct Piece {
        var segment: Segment
        var offset: Int
        var count: Int
        var memory: any CommitMemory
        /// Where the batches begin in it.
        var start: Int
        var addedAt: Instant
        /// The number of loans.
        var loans = 0
        /// The bytes of memory that become free with the piece.
        var cost: Int

        /// Ends one loan.
        /// - Returns: whether it was the last one.
        mutating func takeBack() -> Bool {
            loans -= 1
            return loans == 0
        }
    }

    private struct State {
        var pieces: NumberedRing<Piece>
        /// Evicted pieces that are still lent, by number.
        var evicted: [UInt64: Piece] = [:]
        /// The bytes of memory that the pieces take which are not evicted.
        var bytes = 0
        /// Those that lent pieces take, evicted or not.
        var lentBytes = 0
        /// By reader that reads here: the number of the piece that it reads next.
        var near: [ObjectIdentifier: UInt64] = [:]
        /// How often readers have read that were awaited.
        var reads: UInt64 = 0
        /// While the writer waits: until none of them reads a piece with one of these numbers.
        var awaited: Range<UInt64>?
        /// The memory of an evicted piece, reused for the next copy: a steady stream of commits allocates nothing.
        var unused: CommitCopy?

        mutating func reuse(_ memory: any CommitMemory) {
            if let copy = memory as? CommitCopy { unused = copy }
        }

        /// Whether the writer waits for readers that have gone on by now.
        mutating func hasRoomAgain() -> Bool {
            guard let numbers = awaited, !near.values.contains(where: numbers.contains) else { return false }
            awaited = nil
            return true
        }

        /// Whether no reader needs the oldest piece: all that read here have passed it, and one that comes back from
        /// the disk begins later.
        func isOldestPassed(at now: Instant) -> Bool {
            let number = pieces.numbers.lowerBound
            guard pieces.count > passedPieces, now - pieces[number].addedAt >= passedTime else { return false }
            return !near.values.contains { $0 <= number }
        }

        /// Evicts the oldest piece. One that is lent is kept until it is returned.
        mutating func evict() {
            let number = pieces.numbers.lowerBound
            if near.values.contains(where: { $0 <= number }) { near = near.filter { $0.value > number } }
            let piece = pieces.removeFirst()
            bytes -= piece.cost
            if piece.loans > 0 { evicted[number] = piece } else { reuse(piece.memory) }
        }
    }

    /// So many pieces stay after all readers have passed them, and younger ones: a reader that lags comes back to
    /// memory there.
    private static let passedPieces = 32
    private static let passedTime = Duration.milliseconds(50)

    private let byteLimit: Int
    private let lentLimit: Int
    private let smallCommit: Int
    private let pieceLimit: Int
    private let onRoom: @Sendable () -> Void
    private let state: UnqueuedLock<State>

    /// - Parameters:
    ///   - bytes: the limit for all pieces together; the latest piece is kept even above it.
    ///   - lent: the limit for the pieces that are lent: they stay for as long as readers use them.
    ///   - smallCommit: a commit of up to this many bytes is copied, so that its large buffer can be reused at once.
    ///   - pieces: the maximum number of pieces, at least 1.
    ///   - onRoom: the readers for which the writer waits have gone on (`readersToAwait`).
    init(bytes: Int, lent: Int, smallCommit: Int, pieces: Int = 256, onRoom: @escaping @Sendable () -> Void = {}) {
        self.onRoom = onRoom
        pieceLimit = pieces
        byteLimit = bytes
        lentLimit = lent
        self.smallCommit = smallCommit
        // One more for a moment: a piece is added before others are evicted.
        state = UnqueuedLock(State(pieces: NumberedRing(capacity: pieces + 1)))
    }

    convenience init(_ options: JournalOptions, onRoom: @escaping @Sendable () -> Void) {
        self.init(
            bytes: options.recentBytes, lent: options.lentBytes, smallCommit: options.smallCommit,
            pieces: max(256, 2 * options.commits), onRoom: onRoom)
    }

    /// Adds a commit, and evicts the oldest pieces above the limits and those that no reader needs any more.
    /// - Parameters:
    ///   - range: in the buffer. Its bytes must not change any more.
    ///   - offset: in the segment's file.
    func add(_ buffer: CommitBuffer, _ range: Range<Int>, segment: Segment, offset: Int, now: Instant) {
        let isSmall = buffer.count <= smallCommit
        let memory: any CommitMemory = isSmall ? copy(buffer, range) : buffer
        let start = isSmall ? 0 : range.lowerBound
        state.withLock { state in
            // A commit that goes on in the next segment has two pieces in one buffer.
            if let last = state.pieces.numbers.last, state.pieces[last].memory === memory {
                state.bytes -= state.pieces[last].cost
                state.pieces[last].cost = 0
            }
            state.pieces.append(
                Piece(
                    segment: segment, offset: offset, count: range.count, memory: memory, start: start, addedAt: now,
                    cost: memory.capacity))
            state.bytes += memory.capacity
            while state.pieces.count > 1,
                isAbove(state.bytes, state.pieces.count) || state.isOldestPassed(at: now)
            { state.evict() }
        }
    }

    private func isAbove(_ bytes: Int, _ pieces: Int) -> Bool { bytes > byteLimit || pieces > pieceLimit }

    private func copy(_ buffer: CommitBuffer, _ range: Range<Int>) -> CommitCopy {
        let unused = state.withLock { exchange(&$0.unused, with: nil) }
        // Much more memory than needed would take it from other pieces.
        let fits = unused.map { (range.count...4 * max(range.count, 4096)).contains($0.capacity) } ?? false
        let copy = fits ? unused : nil
        return buffer.withBytes(range) { bytes in
            let copy = copy ?? CommitCopy(capacity: bytes.count)
            copy.fill(with: bytes)
            return copy
        }
    }

    /// Readers that a commit may wait for.
    struct Awaited: Sendable {
        var count: Int
        /// How often such readers have read, ever.
        var reads: UInt64
    }

    /// The readers that keep up, and would have to read from the disk if a commit of this size were added now. Once
    /// there are none, `onRoom` is called.
    /// - Parameter lag: a reader that has not read a commit this long after it was added does not keep up.
    /// - Returns: nil if there are none.
    func readersToAwait(adding count: Int, capacity: Int, now: Instant, lag: Duration) -> Awaited? {
        let cost = count > smallCommit ? capacity : count
        return state.withLock { state in
            state.awaited = nil
            guard !state.near.isEmpty else { return nil }
            var bytes = state.bytes + cost
            for (passed, number) in state.pieces.numbers.enumerated() {
                guard isAbove(bytes, state.pieces.count - passed + 1) else { break }
                let piece = state.pieces[number]
                if now - piece.addedAt < lag, state.near.values.contains(number) {
                    state.awaited = (state.awaited?.lowerBound ?? number)..<number + 1
                }
                bytes -= piece.cost
            }
            guard let numbers = state.awaited else { return nil }
            return Awaited(count: state.near.values.count { numbers.contains($0) }, reads: state.reads)
        }
    }

    /// A reader has ended.
    func leave(_ reader: ObjectIdentifier) {
        let isRoom = state.withLock { state in
            state.near[reader] = nil
            return state.hasRoomAgain()
        }
        if isRoom { onRoom() }
    }

    /// Lends the bytes of a segment from `offset` on, up to the end of their commit.
    /// - Parameter reader: one that commits wait for (`readersToAwait`); nil: another one.
    /// - Returns: nil if they were evicted.
    func lend(_ segment: Segment, at offset: Int, to reader: ObjectIdentifier?) -> LentCommit? {
        let (lent, isRoom) = state.withLock { state -> (LentCommit?, Bool) in
            // Pieces are in the order of the journal.
            let found = state.pieces.lastNumber {
                ($0.segment.firstPosition, $0.offset) <= (segment.firstPosition, offset)
            }
            // The reader may be back at once: bytes other than events are not here.
            guard let found, case let last = state.pieces[found], last.segment === segment,
                offset < last.offset + last.count
            else { return (nil, false) }
            if state.pieces[found].loans == 0 { state.lentBytes += state.pieces[found].memory.capacity }
            state.pieces[found].loans += 1
            let piece = state.pieces[found]
            let skipped = offset - piece.offset
            if let reader {
                state.near[reader] = found
                if state.awaited?.contains(found) == true { state.reads &+= 1 }
            }
            let lent = LentCommit(
                number: found, memory: piece.memory, range: piece.start + skipped..<piece.start + piece.count,
                isScarce: state.lentBytes > lentLimit, lender: self)
            return (lent, state.hasRoomAgain())
        }
        if isRoom { onRoom() }
        return lent
    }

    /// A reader has read a commit to its end, and needs the next one.
    func finish(_ commit: LentCommit, by reader: ObjectIdentifier) {
        let isRoom = state.withLock { state in
            if state.near[reader] == commit.number { state.near[reader] = commit.number + 1 }
            return state.hasRoomAgain()
        }
        if isRoom { onRoom() }
    }

    /// Ends one loan.
    fileprivate func takeBack(_ number: UInt64) {
        state.withLock { state in
            if state.pieces.numbers.contains(number) {
                guard state.pieces[number].takeBack() else { return }
                state.lentBytes -= state.pieces[number].memory.capacity
            } else if var piece = state.evicted[number] {
                let isLast = piece.takeBack()
                state.evicted[number] = isLast ? nil : piece
                guard isLast else { return }
                state.lentBytes -= piece.memory.capacity
                state.reuse(piece.memory)
            }
        }
    }
}

/// A loan of a commit's batches. It ends with this object.
final class LentCommit: Sendable {
    fileprivate let number: UInt64
    private let memory: any CommitMemory
    private let range: Range<Int>
    private let lender: RecentCommits
    /// So much is lent that a reader should copy what it does not use at once: the memory of the recent commits would
    /// be that of slow readers.
    let isScarce: Bool

    fileprivate init(
        number: UInt64, memory: any CommitMemory, range: Range<Int>, isScarce: Bool, lender: RecentCommits
    ) {
        self.number = number
        self.memory = memory
        self.range = range
        self.isScarce = isScarce
        self.lender = lender
    }

    deinit { lender.takeBack(number) }

    @unsafe var bytes: UnsafeBufferPointer<UInt8> { unsafe memory.bytes(range) }
}
