import Events
import Platform
import Synchronization
import Telemetry

@testable import Delivery

/// A clock that moves only when a test advances it.
final class FakeClock: Clock {
    private let time = Atomic<Int64>(1_000_000_000)
    func now() -> Instant { Instant(nanoseconds: time.load(ordering: .relaxed)) }
    func wallClock() -> Int64 { 1_700_000_000_000_000_000 + time.load(ordering: .relaxed) }
    func advance(_ duration: Duration) { time.wrappingAdd(duration.inNanoseconds, ordering: .relaxed) }
}

/// A repeatable generator (splitmix64).
struct SeededRandom: RandomNumberGenerator, Sendable {
    var state: UInt64
    init(_ seed: UInt64 = 1) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

struct Broken: Error, CustomStringConvertible {
    var description: String
    init(_ description: String = "broken") { self.description = description }
}

/// A journal in memory. Each event's JSON is its position.
final class FakeLog: EventLog {
    struct State {
        var end: UInt64 = 0
        var missing: Range<UInt64> = 0..<0
        var failing = false
        var perRead = Int.max
        /// The size in bytes that each event is padded to.
        var size = 0
    }
    let state = Mutex(State())
    /// The number of batches whose memory is lent.
    let loans = Atomic(0)

    var end: UInt64 { state.withLock { $0.end } }
    func append(_ count: UInt64) { state.withLock { $0.end += count } }
    func makeReader(from position: UInt64) throws -> any EventReader { Reader(log: self, next: position) }

    static func receivedAt(_ position: UInt64) -> Int64 { 1_000 + Int64(position) }

    /// Memory that is lent. It holds zeros after its end, so that a later use of it is noticed.
    @safe private final class Loan: Sendable {
        nonisolated(unsafe) let bytes: UnsafeMutableBufferPointer<UInt8>
        private let log: FakeLog

        init(_ text: [UInt8], of log: FakeLog) {
            self.log = log
            unsafe bytes = .allocate(capacity: text.count)
            _ = unsafe bytes.initialize(fromContentsOf: text)
            log.loans.add(1, ordering: .relaxed)
        }

        deinit {
            unsafe bytes.update(repeating: 0)
            unsafe bytes.deallocate()
            log.loans.subtract(1, ordering: .relaxed)
        }
    }

    private final class Reader: EventReader {
        let log: FakeLog
        var next: UInt64
        init(log: FakeLog, next: UInt64) {
            self.log = log
            self.next = next
        }

        func borrow(
            into batch: inout EventBatch, maximumBytes: Int, selecting selection: (any EventSelection)?
        ) throws -> Bool {
            guard try read(into: &batch, maximumBytes: maximumBytes) else { return false }
            if let selection { batch.leaveOut { !selection.mayTake($0.index, $1) } }
            let loan = Loan(batch.ownBytes, of: log)
            unsafe batch.borrow(UnsafeBufferPointer(loan.bytes), from: loan)
            return true
        }

        func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool {
            let state = log.state.withLock { $0 }
            if state.failing {
                // The error comes in the middle of a read: the batch already holds an event.
                batch.events = [
                    EventRecord(
                        position: next, receivedAt: 0, offset: 0, length: 0, origin: 0, index: EventIndex(kind: .track))
                ]
                throw Broken("pread: input/output error")
            }
            batch.removeAll()
            guard next < state.end else { return false }
            batch.origins.append(Origin(source: "apps", uid: 7, gid: 7, pid: 7))
            while next < state.end, batch.ownBytes.count < maximumBytes, batch.events.count < state.perRead {
                if state.missing.contains(next) {
                    next = state.missing.upperBound
                    continue
                }
                let number = Array("\(next)".utf8)
                let text = number + Array(repeating: UInt8(ascii: " "), count: max(0, state.size - number.count))
                batch.events.append(
                    EventRecord(
                        position: next, receivedAt: FakeLog.receivedAt(next), offset: UInt32(batch.ownBytes.count),
                        length: UInt32(text.count), origin: 0, index: EventIndex(kind: .track)))
                batch.ownBytes += text
                next += 1
            }
            batch.next = next
            return !batch.events.isEmpty
        }
    }
}

extension EventBatch {
    /// Leaves events out as the journal's reader does.
    fileprivate mutating func leaveOut(_ isLeftOut: (EventRecord, Span<UInt8>) -> Bool) {
        let all = events
        events = []
        for var event in all {
            if isLeftOut(event, json(of: event)) {
                leftOutAtEnd += 1
            } else {
                event.leftOutBefore = exchange(&leftOutAtEnd, with: 0)
                events.append(event)
            }
        }
    }
}

/// Takes some positions. `FakeLog` writes the position as the event's text.
final class FakeSelection: EventSelection {
    let reason = "no_route"
    private let isTaken: @Sendable (UInt64) -> Bool
    init(_ isTaken: @escaping @Sendable (UInt64) -> Bool) { self.isTaken = isTaken }
    func mayTake(_ index: EventIndex, _ json: Span<UInt8>) -> Bool {
        var position: UInt64 = 0
        for i in json.indices { position = position * 10 + UInt64(json[i] - UInt8(ascii: "0")) }
        return isTaken(position)
    }
}

final class FakeCursors: CursorStore {
    let cursor: Mutex<Cursor>
    let advances = Mutex<[Cursor]>([])
    /// The position where the destination started.
    let start = Atomic<UInt64>(0)
    init(_ position: UInt64 = 0) { cursor = Mutex(Cursor(position: position)) }
    func start(of destination: String) -> UInt64 { start.load(ordering: .relaxed) }
    func cursor(of destination: String) -> Cursor { cursor.withLock { $0 } }
    func advance(_ destination: String, to cursor: Cursor) {
        self.cursor.withLock { $0 = cursor }
        advances.withLock { $0.append(cursor) }
    }
    func commit() throws {}
    /// Every list of settled positions that live delivery recorded, oldest first. Empty: none was recorded.
    let settled = Mutex<[SettledPositions]>([])
    func settle(_ destination: String, _ passage: Passage, _ settled: SettledPositions) {
        if passage == .delivery { self.settled.withLock { $0.append(settled) } }
    }
    func settled(of destination: String, _ passage: Passage) -> SettledPositions? {
        passage == .delivery ? settled.withLock { $0.last } : nil
    }
    /// The replay in progress.
    let kept = Mutex<Replay?>(nil)
    func replay(of destination: String) -> Replay? { kept.withLock { $0 } }
    func advance(_ destination: String, to cursor: Cursor, _ replay: Replay) {
        advance(destination, to: cursor)
        kept.withLock { if $0?.id == replay.id { $0 = replay } }
    }
    func finish(_ replay: Replay, of destination: String) { kept.withLock { if $0?.id == replay.id { $0 = nil } } }
    var position: UInt64 { cursor.withLock { $0.position } }
}

/// Routes every event, unless a test sets another verdict.
// Unchecked: only one worker calls it at a time.
final class FakeRouter: EventRouter, @unchecked Sendable {
    var verdict: (UInt64) -> RouteVerdict = { _ in .routed }
    /// The size in bytes that a rendered event is padded to.
    var size = 0
    /// Maps a position to its event's user.
    var user: (UInt64) -> UInt64 = { _ in 0 }
    var lookback: Lookback?
    var mayTakeLong = false
    var selection: (any EventSelection)?
    /// The sender of each routed event.
    private(set) var senders: [Origin?] = []
    private(set) var recalled: [UInt64] = []
    /// Called for each recalled event.
    var recalling: () -> Void = {}

    func recall(_ event: EventRecord, of batch: borrowing EventBatch) {
        recalled.append(event.position)
        recalling()
    }

    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> RouteVerdict {
        let verdict = verdict(event.position)
        senders.append(batch.origin(of: event))
        guard case .filtered = verdict else {
            // A rejected event leaves half of its output behind, as a failed rendering does.
            let start = output.payload.count
            output.payload += batch.text(of: event)
            while output.payload.count < start + size { output.payload.append(UInt8(ascii: " ")) }
            guard verdict == .routed else { return verdict }
            output.events.append(
                OutboundEvent(
                    position: event.position, receivedAt: event.receivedAt, kind: .track,
                    payload: start..<output.payload.count, messageID: start..<start))
            output.payload.append(UInt8(ascii: "\n"))
            output.events[output.events.count - 1].user = user(event.position)
            return .routed
        }
        return verdict
    }
}

/// Records each offer and settles it with the scripted answer: at once, or when the test settles it.
final class ScriptedDestination: Destination {
    var limits = DestinationLimits()
    var answer: ((OutboundBatch) -> DeliveryClaim.Settlement?)? = { _ in .all(.delivered) }
    var startAt: UInt64?
    var openError: (any Error)?
    var checkpointError: (any Error)?
    /// Ends when it is opened again.
    var failure: String?
    var state: [UInt8]?
    private(set) var offers: [OutboundBatch] = []
    private(set) var opened: [Cursor] = []
    private(set) var closed = 0
    /// Whether a cursor becomes durable only when the next one is requested.
    var isLate = false
    private var late: Cursor?
    private(set) var checkpoints = 0
    private var claims: [@Sendable (DeliveryClaim.Settlement) -> Void] = []

    func open(from cursor: Cursor) throws -> UInt64? {
        if let openError { throw openError }
        opened.append(cursor)
        failure = nil
        return startAt
    }

    func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        offers.append(batch)
        if let answer, let settlement = answer(batch) {
            claim.settle(settlement)
        } else {
            let box = ClaimBox(claim)
            claims.append { box.settle($0) }
        }
    }

    func checkpoint() throws -> [UInt8]? {
        if let checkpointError { throw checkpointError }
        checkpoints += 1
        return state
    }

    func checkpoint(settled position: UInt64) throws -> Cursor? {
        let cursor = Cursor(position: position, state: try checkpoint() ?? [])
        guard isLate else { return cursor }
        defer { late = cursor }
        return late
    }

    var checkpointsLate: Bool { isLate }
    var settlesAtOnce = false

    func close() { closed += 1 }

    /// Settles the oldest held claim.
    func settleFirst(_ settlement: DeliveryClaim.Settlement) { claims.removeFirst()(settlement) }
    /// Settles the newest held claim.
    func settleLast(_ settlement: DeliveryClaim.Settlement) { claims.removeLast()(settlement) }
    func dropFirst() { claims.removeFirst() }
    var held: Int { claims.count }

    /// The positions of each offer.
    var positions: [[UInt64]] { offers.map { $0.events.map(\.position) } }
}

private final class ClaimBox: Sendable {
    private let claim: Mutex<DeliveryClaim?>
    init(_ claim: consuming DeliveryClaim) { self.claim = Mutex(claim) }
    func settle(_ settlement: DeliveryClaim.Settlement) {
        let claim = self.claim.withLock { $0.take() }
        claim?.settle(settlement)
    }
}

final class FakeSink: DeadLetterSink {
    var letters: [DeadLetter] = []
    var error: (any Error)?
    /// Dead letters to retry, and the numbers of those that are finished.
    var retries: [DeadLetterRetry] = []
    var finished: [[UInt64]] = []
    func append(_ letters: [DeadLetter]) throws {
        if let error { throw error }
        self.letters += letters
    }
    func nextRetry() throws -> DeadLetterRetry? { retries.first }
    func finish(_ retry: DeadLetterRetry) throws {
        finished.append(retry.numbers)
        retries.removeFirst()
    }
}

struct SilentLog: LogSink {
    func write(_ level: Level, _ line: String) {}
}

/// A worker whose whole environment is scripted.
final class Bench {
    let clock = FakeClock()
    let log = FakeLog()
    let cursors: FakeCursors
    let router = FakeRouter()
    /// The router for replays and retries of dead letters.
    let backfillRouter = FakeRouter()
    let destination = ScriptedDestination()
    let sink = FakeSink()
    let telemetry: Telemetry
    let worker: DeliveryWorker
    let wakes = WakeCounter()

    final class WakeCounter: Sendable {
        let count = Atomic(0)
    }

    init(
        _ policy: DeliveryPolicy = DeliveryPolicy(), cursor: UInt64 = 0, latencies: Histogram? = nil,
        tap: (any DeliveryTap)? = nil
    ) {
        let clock = clock
        cursors = FakeCursors(cursor)
        telemetry = Telemetry(sink: SilentLog(), now: { clock.now().nanoseconds })
        var setting = DeliveryWorker.Setting(
            name: "shop", policy: policy, log: log, cursors: cursors, clock: clock, telemetry: telemetry)
        setting.backfillRouter = { [backfillRouter] _, _ in backfillRouter }
        setting.latencies = latencies
        setting.tap = tap
        worker = DeliveryWorker(
            setting,
            router: router, destination: destination, deadLetters: sink, random: SeededRandom(),
            wake: { [wakes] in wakes.count.add(1, ordering: .relaxed) })
    }

    /// Runs one turn now.
    @discardableResult
    func turn() -> Instant? { worker.turn(now: clock.now()) }

    /// Runs turns at the times that the worker asks for, until it asks for none within `duration`.
    func run(for duration: Duration) {
        let end = clock.now() + duration
        var turns = 0
        while turns < 100_000 {
            turns += 1
            guard let next = turn(), next <= end else { break }
            clock.advance(max(.zero, next - clock.now()))
        }
        clock.advance(end - clock.now())
    }
}
