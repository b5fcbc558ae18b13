import Events
import Platform
import Synchronization

/// The queue between clients' threads and the writer. It has two buffers: clients fill the front one while the writer
/// commits the other. Admission is decided here, before a byte is copied. Any thread.
final class AppendQueue: Sendable {
    private struct State {
        var front: CommitBuffer
        var spare: CommitBuffer?
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
        /// Whether the writer has been told of the events in the front buffer.
        var isAnnounced = false
    }

    private let state: Mutex<State>
    private let clock: any Clock
    private let capacity: Int
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
        limits = BatchLimits(segmentSize: options.segmentSize)
        self.clock = clock
        self.bell = bell
        state = Mutex(
            State(
                front: Self.emptied(CommitBuffer(capacity: capacity, limits: limits), room),
                spare: CommitBuffer(capacity: capacity, limits: limits), next: next,
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
        let outcome = state.withLock { state -> JournalAppend in
            if state.isEnded { return .refused(Refusal(reason: .journalFull, detail: "the daemon is stopping")) }
            if let shortage = state.closed ?? (state.front.count + space > state.room ? state.shortage : nil) {
                guard shortage.blocks else { return .refused(Refusal(reason: .journalFull, detail: shortage.detail)) }
                state.waiting = true
                return .busy
            }
            guard state.front.count + space <= capacity else {
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
                state.front.append(bytes, events, from: origin, position: state.next, receivedAt: now)
            }
            state.next &+= UInt64(events.count)
            return .queued(end: state.next)
        }
        // The writer takes the whole queue before it sleeps, so it is woken once.
        if isNews { bell.ring() }
        return outcome
    }

    /// Wakes the writer if events are queued of which it has not been told.
    func announce() {
        let isNews = state.withLock { state in
            guard state.front.count > 0, !state.isAnnounced else { return false }
            state.isAnnounced = true
            return true
        }
        if isNews { bell.ring() }
    }

    // MARK: - The writer's side

    /// Takes the front buffer; nil if it is empty, or if no spare buffer can replace it. Call `giveBack` afterwards.
    func take() -> CommitBuffer? {
        state.withLock { state in
            guard state.front.count > 0, let empty = state.spare else { return nil }
            let full = state.front
            state.spare = nil
            state.room -= full.count
            state.front = Self.emptied(empty, state.room)
            state.isAnnounced = false
            return full
        }
    }

    /// Supplies the next spare buffer.
    /// - Parameter used: a buffer that no reader uses any more; nil makes a new one.
    func giveBack(_ used: consuming CommitBuffer?) {
        let buffer = used ?? CommitBuffer(capacity: capacity, limits: limits)
        state.withLock { $0.spare = buffer }
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
                let room = min(state.room, capacity) - state.front.count
                if shortage.blocks, room < capacity / 2 { return false }
            } else if state.front.count > capacity / 2 {
                return false
            }
            // While events are refused, waiting clients are refused now, like new ones.
            state.waiting = false
            return true
        }
    }

    var next: UInt64 { state.withLock { $0.next } }
    var queuedBytes: Int { state.withLock { $0.front.count } }
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
