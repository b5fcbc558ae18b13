import Events
import Platform
import Synchronization

/// Recognises events whose `messageId` the same source has stored before (`dedupe:`). Any thread.
///
/// The check of an id, the append of its event and the memory of the id are one step under a lock, so that of two
/// connections that send an id at the same time, one stores it. Off, it takes no lock.
///
/// The memory is in this process only. It is filled from the journal when deduplication is turned on: `begin` records
/// the ids of new events, the caller adds those of earlier events to the `History`, and `finish` joins both.
package final class Deduplication: Sendable {
    /// The configuration keys are `window` and `max_memory`.
    package struct Options: Sendable, Equatable {
        package var window: Duration
        /// Bytes.
        package var memory: Int

        package init(window: Duration, memory: Int) {
            self.window = window
            self.memory = memory
        }
    }

    package struct Status: Sendable, Equatable {
        package var options: Options
        /// How many ids are in memory, and how many fit.
        package var ids: Int
        package var capacity: Int
        /// Ids that were forgotten before the window was over, because the memory was full.
        package var forgottenEarly: UInt64
        /// The age of the oldest id.
        package var oldest: Duration?

        /// Whether the window is shorter than configured: the next id replaces one that is within it.
        package var isFull: Bool { ids == capacity }
    }

    fileprivate struct State {
        var options: Options?
        var table: DuplicateTable?
        /// The ids of events that were stored since `begin`.
        var gathering: DuplicateTable?
    }

    private let state = Mutex(State())
    private let key = MessageIDHash.Key.random()
    /// Whether a thread must take the lock to append.
    private let isOn = Atomic<Bool>(false)
    /// Appends that run without the lock.
    private let unlocked = Atomic<Int>(0)

    package init() {}

    // MARK: Events

    /// Appends those of the events that are not duplicates.
    /// - Parameters:
    ///   - witness: is told the end of those that are appended, or of the earlier events that all of them repeat.
    ///   - lane: events of a lane are never duplicates: the lane's position tells which are new.
    /// - Returns: `.queued` with a position at which all of the events, or the ones that they repeat, are durable; and
    ///   how many of them are duplicates. If the journal takes none, nothing is remembered.
    func append(
        _ bytes: Span<UInt8>, _ events: [ScannedEvent], from origin: Origin, _ lane: LanePosition?,
        _ witness: (any AppendWitness)?, to appender: any EventAppender, _ clock: any Clock
    ) -> (outcome: AppendOutcome, duplicates: Int) {
        if lane != nil { return (appender.append(bytes, events: events.span, from: origin, lane: lane), 0) }
        if !isOn.load(ordering: .relaxed) {
            unlocked.add(1, ordering: .sequentiallyConsistent)
            defer { unlocked.subtract(1, ordering: .releasing) }
            // `begin` may have turned it on meanwhile, and may not have seen this append.
            if !isOn.load(ordering: .sequentiallyConsistent) {
                return (appender.append(bytes, events: events.span, from: origin, witness: witness), 0)
            }
        }
        var hashes: [MessageIDHash?] = []
        hashes.reserveCapacity(events.count)
        for event in events { hashes.append(MessageIDHash(of: event, in: bytes, key)) }
        return state.withLock { state in
            let now = clock.now()
            var fresh: [ScannedEvent] = []
            var remembered = 0
            var duplicates = 0
            var originals: UInt64 = 0
            for (number, event) in events.enumerated() {
                if let hash = hashes[number] {
                    if let end = state.end(of: hash, at: now) {
                        if duplicates == 0 { fresh = Array(events[..<number]) }
                        duplicates += 1
                        originals = max(originals, end)
                        continue
                    }
                    // A later event of this slice may have the same id. The end is set below.
                    state.insert(hash, at: now)
                    remembered += 1
                }
                if duplicates > 0 { fresh.append(event) }
            }
            if duplicates == 0 { fresh = events }
            if fresh.isEmpty, duplicates > 0 {
                witness?.willQueue(upTo: originals)
                return (.queued(end: originals), duplicates)
            }
            switch appender.append(bytes, events: fresh.span, from: origin, witness: witness) {
            case .queued(let end):
                state.setEnd(ofNewest: remembered, to: end)
                return (.queued(end: max(end, originals)), duplicates)
            case let outcome:
                state.removeNewest(remembered)
                return (outcome, 0)
            }
        }
    }

    // MARK: Configuration. One thread

    /// The ids of earlier events, in the order in which they were received.
    package final class History {
        fileprivate var table: DuplicateTable
        fileprivate let options: Options
        private let key: MessageIDHash.Key

        fileprivate init(_ options: Options, _ key: MessageIDHash.Key, at now: Instant) {
            self.options = options
            self.key = key
            table = DuplicateTable(window: options.window, memory: options.memory, at: now)
        }

        /// Adds an event, if it has an id that is not there.
        /// - Parameters:
        ///   - end: the position behind the event in the journal.
        ///   - age: how long ago it was received.
        package func add(_ json: Span<UInt8>, _ index: EventIndex, end: UInt64, age: Duration, at now: Instant) {
            guard age < options.window, let hash = MessageIDHash(json, index, key),
                table.end(of: hash, at: now) == nil
            else { return }
            let received = now.nanoseconds.saturatingSubtract(max(0, age.inNanoseconds))
            table.insert(hash, end: end, time: Instant(nanoseconds: received))
        }

        package var ids: Int { table.count }

        /// Hands the table over, so that it has one owner and is never copied.
        fileprivate func take() -> DuplicateTable {
            exchange(&table, with: DuplicateTable(window: options.window, memory: 0, at: Instant(nanoseconds: 0)))
        }
    }

    /// What is in effect; nil: events are not deduplicated.
    package var options: Options? { state.withLock { $0.options } }

    /// Records the ids of all events that are stored from now on. Until `finish`, duplicates are recognised as before.
    package func begin(_ options: Options, at now: Instant) -> History {
        state.withLock {
            $0.gathering = DuplicateTable(window: options.window, memory: options.memory, at: now)
        }
        isOn.store(true, ordering: .sequentiallyConsistent)
        // Appends that have not seen the store above. An append never waits, so this is short.
        let pause = Doorbell()
        while unlocked.load(ordering: .sequentiallyConsistent) > 0 {
            pause.wait(until: SystemClock().now() + .microseconds(100))
        }
        return History(options, key, at: now)
    }

    /// Recognises duplicates from now on.
    package func finish(_ history: History, at now: Instant) {
        state.withLock { state in
            var table = history.take()
            if let newer = state.gathering { table.append(newer, at: now) }
            state = State(options: history.options, table: table)
        }
    }

    /// Takes `begin` back.
    package func cancel() {
        state.withLock { state in
            state.gathering = nil
            isOn.store(state.table != nil, ordering: .sequentiallyConsistent)
        }
    }

    /// Turns deduplication off, and forgets all ids.
    package func end() {
        state.withLock { state in
            state = State()
            isOn.store(false, ordering: .sequentiallyConsistent)
        }
    }

    /// nil: events are not deduplicated.
    package func status(at now: Instant) -> Status? {
        state.withLock { state in
            state.table?.expire(at: now)
            guard let options = state.options, let table = state.table else { return nil }
            return Status(
                options: options, ids: table.count, capacity: table.capacity, forgottenEarly: table.forgottenEarly,
                oldest: table.age(at: now))
        }
    }
}

extension Deduplication.State {
    fileprivate mutating func end(of hash: MessageIDHash, at now: Instant) -> UInt64? {
        table?.end(of: hash, at: now) ?? gathering?.end(of: hash, at: now)
    }

    fileprivate mutating func insert(_ hash: MessageIDHash, at now: Instant) {
        table?.insert(hash, end: 0, time: now)
        gathering?.insert(hash, end: 0, time: now)
    }

    fileprivate mutating func setEnd(ofNewest count: Int, to end: UInt64) {
        table?.setEnd(ofNewest: count, to: end)
        gathering?.setEnd(ofNewest: count, to: end)
    }

    fileprivate mutating func removeNewest(_ count: Int) {
        table?.removeNewest(count)
        gathering?.removeNewest(count)
    }
}
