import Events
import Platform
import Synchronization

/// The queue between clients' threads and the writer. Clients reserve places in the front buffer and fill them; a full
/// one waits behind the others until the writer commits it. Admission is decided here, before a byte is copied. Any
/// thread.
final class AppendQueue: Sendable {
    private struct State {
        var front: CommitBuffer
        /// Full buffers, in the order of their events.
        var full: [CommitBuffer] = []
        /// The bytes in them.
        var fullBytes = 0
        /// Empty ones.
        var free: [CommitBuffer] = []
        /// How many buffers exist, those of the writer and of the recent commits included.
        var made = 1
        var next: UInt64
        var lanes: LaneEnds
        /// Bytes left in the current segment after everything that the writer has taken.
        var room: Int
        /// Set while no next segment can be made: why nothing is admitted once the current segment is full.
        var shortage: Shortage?
        /// Set while nothing can be written.
        var closed: Shortage?
        /// Never reset: the journal is stopping.
        var isEnded = false
        var waiting = false
        /// Whether the writer has been told of the queued events.
        var isAnnounced = false

        var queuedBytes: Int { fullBytes + front.count }
    }

    private let state: Mutex<State>
    private let clock: any Clock
    /// Bytes of a buffer.
    let capacity: Int
    /// How many buffers may hold events that wait.
    private let waiting: Int
    /// How many may exist: those that readers may still use come on top of the memory.
    private let most: Int
    private let limits: BatchLimits
    private let bell: Doorbell

    /// - Parameters:
    ///   - next: the position of the next event.
    ///   - lanes: the stored lanes.
    ///   - room: bytes left in the current segment.
    ///   - bell: rings when there are events to write.
    init(
        options: JournalOptions, clock: any Clock, next: UInt64, lanes: [LaneKey: StoredLane], room: Int, bell: Doorbell
    ) {
        capacity = options.queueBytes.paddedTo8
        waiting = options.waitingCommits
        most = options.commits + options.lentBytes / options.queueBytes
        limits = BatchLimits(segmentSize: options.segmentSize)
        self.clock = clock
        self.bell = bell
        state = Mutex(
            State(
                front: Self.emptied(CommitBuffer(capacity: capacity, limits: limits), room), next: next,
                lanes: LaneEnds(lanes, limit: LaneTable.limit(segmentSize: options.segmentSize)), room: room,
                closed: nil))
    }

    /// - Parameter announces: whether the writer is woken; otherwise `announce` must follow soon.
    func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?,
        witness: (any AppendWitness)? = nil, announces: Bool = true
    ) -> JournalAppend {
        guard !events.isEmpty || lane != nil else { return .queued(end: next) }
        if let lane,
            !(1...LanePosition.limit).contains(lane.lane.utf8.count) || lane.position.count > LanePosition.limit
        {
            return .refused(
                Refusal(
                    reason: .tooLarge,
                    detail: "a lane's name has 1 to \(LanePosition.limit) bytes, its position at most as many"))
        }
        let events = copy events
        let receipt = lane?.receipt.map { ReceiptRecord($0, of: events) }
        guard
            let (space, largest) = limits.space(
                for: events, in: bytes.count, source: origin.source,
                lane: lane == nil ? nil : LaneRecord.sizeLimit + (receipt?.size ?? 0))
        else {
            preconditionFailure("an event lies outside of the bytes that came with it")
        }
        let key = lane.map { LaneKey(source: origin.source, lane: $0.lane) }
        guard largest <= limits.record, space <= capacity else {
            return .refused(
                Refusal(
                    reason: .tooLarge,
                    detail: "the journal accepts at most \(limits.record) bytes per event and"
                        + " \(capacity) bytes per append (journal.queue, journal.segment_size)"))
        }
        let now = clock.wallClock()
        var isNews = false
        var place: CommitBuffer.Place?
        let outcome = state.withLock { state -> JournalAppend in
            if state.isEnded { return .refused(Refusal(reason: .journalFull, detail: "the daemon is stopping")) }
            if let shortage = state.closed ?? (state.queuedBytes + space > state.room ? state.shortage : nil) {
                guard shortage.blocks else { return .refused(Refusal(reason: .journalFull, detail: shortage.detail)) }
                state.waiting = true
                return .busy
            }
            let isFull = state.front.count + space > capacity
            guard !isFull || mayRotate(state) else {
                state.waiting = true
                return .busy
            }
            if let key, let lane, !lane.position.isEmpty, !state.lanes.hasRoom(for: key) {
                return .refused(
                    Refusal(
                        reason: .journalFull,
                        detail: "the journal cannot store the position of another lane of \(origin.source): it has too"
                            + " many lanes (partitions, files), or all sources together have; a larger"
                            + " journal.segment_size has room for more"))
            }
            if isFull { rotate(&state) }
            isNews = announces && !state.isAnnounced
            if isNews { state.isAnnounced = true }
            // Before the writer can take the events: whoever survives this process knows of them.
            witness?.willQueue(upTo: state.next &+ UInt64(events.count))
            if let key, let lane {
                let record = LaneRecord(lane, previousEnd: state.lanes[key], receipt)
                state.front.append(bytes, events, of: record, from: origin, position: state.next, receivedAt: now)
                let end = state.next &+ UInt64(events.count)
                state.lanes.append(key, record.stored(end: end, isEmpty: events.isEmpty))
            } else {
                place = state.front.reserve(events, from: origin, position: state.next, receivedAt: now)
            }
            state.next &+= UInt64(events.count)
            return .queued(end: state.next)
        }
        // Without the lock: others reserve and fill their places at the same time.
        let isAwaited = place.map { CommitBuffer.fill($0, bytes, events) } ?? false
        // The writer takes the whole queue before it sleeps, so it is woken once.
        if isNews || isAwaited { bell.ring() }
        return outcome
    }

    /// Wakes the writer if events are queued of which it has not been told.
    func announce() {
        let isNews = state.withLock { state in
            guard state.queuedBytes > 0, !state.isAnnounced else { return false }
            state.isAnnounced = true
            return true
        }
        if isNews { bell.ring() }
    }

    // MARK: - The writer's side

    /// Takes the oldest buffer with events; nil if there are none. Some may still be copied to it (`isFilled`). Call
    /// `giveBack` when nobody uses it any more.
    func take() -> CommitBuffer? {
        state.withLock { state in
            if !state.full.isEmpty {
                let oldest = state.full.removeFirst()
                state.fullBytes -= oldest.count
                state.room -= oldest.count
                return oldest
            }
            guard state.front.count > 0 else { return nil }
            let taken = state.front
            state.room -= taken.count
            state.front = Self.emptied(empty(&state), state.room)
            state.isAnnounced = false
            return taken
        }
    }

    /// The writer has added bytes of its own to the buffer that it took last.
    func noteAdded(_ bytes: Int) {
        state.withLock { state in
            state.room -= bytes
            // What follows lies elsewhere than `take` expected.
            if state.full.isEmpty, state.front.count == 0 { _ = Self.emptied(state.front, state.room) }
        }
    }

    /// Returns a buffer that nobody uses any more.
    func giveBack(_ used: CommitBuffer) {
        state.withLock { state in
            // What the recent commits have copied instead takes the place of the buffers that they no longer hold.
            let isSpare = state.full.count + state.free.count >= waiting
            if isSpare || state.made > most { state.made -= 1 } else { state.free.append(used) }
        }
    }

    // MARK: - Buffers

    /// Whether there may be another buffer with events.
    private func mayRotate(_ state: borrowing State) -> Bool {
        state.full.count + 1 < waiting && (!state.free.isEmpty || state.made < most)
    }

    /// Puts the front buffer behind the other full ones, and an empty one in its place.
    private func rotate(_ state: inout State) {
        state.full.append(state.front)
        state.fullBytes += state.front.count
        state.front = Self.emptied(empty(&state), state.room - state.fullBytes)
    }

    /// The one that was used last: its memory is in the processor's cache, and a light load touches no more of them.
    private func empty(_ state: inout State) -> CommitBuffer {
        if let buffer = state.free.popLast() { return buffer }
        state.made += 1
        return CommitBuffer(capacity: capacity, limits: limits)
    }

    /// Empties a buffer whose bytes will be written to a segment with this much room left.
    private static func emptied(_ buffer: CommitBuffer, _ room: Int) -> CommitBuffer {
        // A segment's size is a multiple of a block, so its room gives the offset in the block.
        buffer.removeAll(forOffset: -(room + Segment.sealSize))
        return buffer
    }

    /// - Parameter room: bytes left in the current segment after everything that the writer has taken.
    func setRoom(_ room: Int) { state.withLock { $0.room = room } }

    func setShortage(_ shortage: Shortage?) { state.withLock { $0.shortage = shortage } }

    /// - Parameter shortage: nil opens the queue again.
    func close(_ shortage: Shortage?) { state.withLock { $0.closed = shortage } }

    /// Refuses all further events permanently.
    func end() { state.withLock { $0.isEnded = true } }

    /// Whether clients that got `.busy` may try again. Returns true once for them.
    func spaceToTell() -> Bool {
        state.withLock { state in
            guard state.waiting else { return false }
            if let closed = state.closed {
                if closed.blocks { return false }
            } else if let shortage = state.shortage {
                let room = min(state.room, waiting * capacity) - state.queuedBytes
                if shortage.blocks, room < capacity / 2 { return false }
            } else if state.queuedBytes > waiting * capacity / 2 {
                return false
            }
            // While events are refused, waiting clients are refused now, like new ones.
            state.waiting = false
            return true
        }
    }

    /// The size of the next commit, as things stand.
    var nextCommit: Int { state.withLock { $0.full.first?.count ?? $0.front.count } }
    var next: UInt64 { state.withLock { $0.next } }
    /// How many buffers exist.
    var buffers: Int { state.withLock { $0.made } }
    var queuedBytes: Int { state.withLock { $0.queuedBytes } }
    /// Why nothing is admitted, now or once the current segment is full.
    var problem: Shortage? { state.withLock { $0.closed ?? $0.shortage } }
}

/// The outcome of an append.
package enum JournalAppend: Sendable, Equatable {
    /// Queued. Acknowledge the events once the acknowledged end has reached this position.
    case queued(end: UInt64)
    /// There is no room now. Append the events again after the next `onSpace`.
    case busy
    case refused(Refusal)
}
