import Events
import Platform
import Synchronization
import Telemetry

/// Serves one destination. The thread's owner (`WorkerRunner`, or `RoutingPool` for many workers) calls `turn` after
/// each `wake`, and at the time that the last turn returned.
// Unchecked: only `inbox`, `ledger` and the atomic flags are used outside `turn`, and turns never overlap.
package final class DeliveryWorker: @unchecked Sendable {
    package struct Setting: Sendable {
        package var name: String
        package var policy: DeliveryPolicy
        package var log: any EventLog
        package var cursors: any CursorStore
        package var clock: any Clock
        package var telemetry: Telemetry
        /// Makes the router of a backfill: of a replay, or (nil) of dead letters. Called in turns.
        package var backfillRouter: (@Sendable (Replay?, Interruption) throws -> any EventRouter)?
        /// Raised when the worker is asked to stop, so that its routers interrupt a running script.
        package var interruption = Interruption()
        /// Gets the time from the receipt of each event to its delivery; nil: nobody asks. Replays do not count.
        package var latencies: Histogram?
        /// Sees the events that pass; nil: nothing can watch them.
        package var tap: (any DeliveryTap)?

        package init(
            name: String, policy: DeliveryPolicy, log: any EventLog, cursors: any CursorStore, clock: any Clock,
            telemetry: Telemetry
        ) {
            self.name = name
            self.policy = policy
            self.log = log
            self.cursors = cursors
            self.clock = clock
            self.telemetry = telemetry
        }
    }

    /// The longest turn on a thread of the worker's own. Between turns the worker looks for outcomes and for a stop
    /// request. Turns in a pool are shorter.
    package static let turnLimit = Duration.milliseconds(50)
    /// With `batch.wait: 0`, how long a batch may grow while a slow script routes the events that were read.
    static let slowBatchWait = Duration.seconds(1)
    /// How long events may be left unread while a batch is collected: `positionsUntilFull` is an estimate, and filtered
    /// events count only when they are read.
    static let longestUnread = Duration.seconds(1)
    /// How many commits may be left unread. The journal keeps at least 256 in its memory.
    static let mostCommitsPassed = 64

    let setting: Setting
    let router: any EventRouter
    let destination: any Destination
    let deadLetters: any DeadLetterSink
    let inbox: SettlementInbox
    let ledger: DeliveryLedger
    private let stopped = Atomic(false)
    private let isInTurn = Atomic(false)

    var random: any RandomNumberGenerator & Sendable
    var window = InFlightWindow()
    /// Of `Setting.latencies`.
    var latencies: Histogram.Recorder?
    var breaker: Breaker
    var pendingLetters: PendingDeadLetters
    /// nil: the destination is not open.
    var intake: Intake?
    /// The router has yet to see the earlier events that it must remember (StateWarmup).
    var needsWarmup = true
    /// Set with `order: user`; nil with `order: destination`.
    var userQueues: UserQueues?
    /// nil: no rate limit.
    var gate: RateGate?
    /// Until when the rate limit delays the next batch.
    var rateUntil: Instant?
    /// The last position given to the cursor store.
    var checkpointed: UInt64 = 0
    /// The settled positions that were recorded last, for a destination that settles at once.
    var noted: SettledPositions?
    /// When the first position not covered by a checkpoint was settled.
    var unsavedSince: Instant?
    /// How often events were refused before a restart that reads them again, by position. Bounded by the events that
    /// the window and the users' queues held.
    var carriedRefusals: [UInt64: UInt32] = [:]
    /// The backoff of open, read and checkpoint failures, which are no batch's fault.
    var trouble: Backoff
    var troubleUntil: Instant?
    /// In the order of their precedence.
    let backfills: [Backfill]
    /// A backfill was requested or cancelled.
    private let backfillsChanged = Atomic(true)
    /// An immediate retry was requested.
    private let mustResume = Atomic(false)
    private let hurries = Atomic(false)
    /// The end of the log from which on a turn is due. 0: during a turn, and where any event counts.
    private let dueEnd = Atomic<UInt64>(0)
    /// Commits since the last turn.
    private let commitsPassed = Atomic(0)
    private var settled: [SettlementInbox.Settled] = []
    private var stopBy: Instant?

    /// - Parameters:
    ///   - random: the source of jitter; a simulation passes a seeded one.
    ///   - wake: called from any thread when a turn is due; must not run the turn itself.
    package init(
        _ setting: Setting, router: any EventRouter, destination: any Destination, deadLetters: any DeadLetterSink,
        random: any RandomNumberGenerator & Sendable, wake: @escaping @Sendable () -> Void
    ) {
        let policy = setting.policy
        self.setting = setting
        self.router = router
        self.destination = destination
        self.random = random
        inbox = SettlementInbox(wake: wake)
        ledger = DeliveryLedger(DeliveryStatus(name: setting.name, since: setting.clock.wallClock()))
        breaker = Breaker(initial: policy.retryInitial, maximum: policy.retryMaximum)
        trouble = Backoff(initial: policy.retryInitial, maximum: policy.retryMaximum)
        pendingLetters = PendingDeadLetters(sink: deadLetters, policy: policy)
        self.deadLetters = deadLetters
        backfills = [
            Backfill(.retry, policy: policy, deadLetters: deadLetters),
            Backfill(.replay, policy: policy, deadLetters: deadLetters),
        ]
        latencies = setting.latencies?.makeRecorder()
        checkpointed = setting.cursors.cursor(of: setting.name).position
        destination.attach(wake: wake)
        let start = checkpointed
        ledger.update { $0.positionSettled = start }
    }

    /// Any thread.
    package var name: String { setting.name }
    /// Any thread: how long events are collected before a batch is sent.
    package var batchWait: Duration { setting.policy.batchWait }
    /// Any thread.
    package var status: DeliveryStatus { ledger.snapshot }
    /// Any thread: the time from the receipt of each event to its delivery; nil: it is not measured.
    package var measuredLatencies: Histogram.Snapshot? { setting.latencies?.snapshot() }
    /// Any thread: the worker has finished. The destination is closed, and the cursor store has the last cursor; the
    /// caller commits it.
    package var isStopped: Bool { stopped.load(ordering: .acquiring) }

    /// Whether a turn is due because the log has grown. A worker that collects a batch, or waits for a service, can do
    /// nothing with the next event alone. Any thread, once for each commit.
    package func isDueAfterCommit() -> Bool {
        // With the fence in `turn`: a turn that begins now is either seen here or sees the log's new end.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let end = dueEnd.load(ordering: .relaxed)
        if setting.log.end >= end || setting.tap?.watchesRouting == true { return true }
        return end < .max && commitsPassed.wrappingAdd(1, ordering: .relaxed).newValue >= Self.mostCommitsPassed
    }

    /// Any thread. Stops reading and offering, and interrupts a running script. Batches in flight may still be settled
    /// until `deadline`. The rest waits in the journal for the next start.
    package func requestStop(by deadline: Instant) {
        setting.interruption.raise()
        inbox.requestStop(by: deadline)
    }

    /// Any thread: a replay was added to the store or removed from it, or dead letters were marked for retry.
    package func backfill() {
        backfillsChanged.store(true, ordering: .releasing)
        inbox.ring()
    }

    /// Any thread: ends the wait of everything that is retrying, held or failing, in live delivery and in backfills.
    /// The next failure starts the usual wait again.
    package func resume() {
        mustResume.store(true, ordering: .releasing)
        inbox.ring()
    }

    /// Any thread: batches are sent as soon as no more events can be read, whatever `batch.wait` is. For the end.
    package func hurry() {
        hurries.store(true, ordering: .releasing)
        inbox.ring()
    }

    /// How long events are collected before a batch is sent: none at the end.
    var wait: Duration { hurries.load(ordering: .acquiring) ? .zero : setting.policy.batchWait }

    /// Any thread: makes the router for a replay's events; nil: this worker runs no backfills.
    /// - Parameter interruption: ends a script that the router runs.
    package func makeBackfillRouter(_ replay: Replay, _ interruption: Interruption = Interruption()) throws -> (
        any EventRouter
    )? {
        try setting.backfillRouter?(replay, interruption)
    }

    /// Any thread: the earlier events that a router must see before it is asked about `position`.
    package func warmup(before position: UInt64, _ router: any EventRouter) -> StateWarmup? {
        StateWarmup(before: position, from: setting.cursors.start(of: name), setting.log, router)
    }

    /// Does all work that needs no wait, for about `duration`. It may exceed that by some events, by one event of a
    /// router that calls scripts, and by one call to the destination. Any thread; one turn at a time.
    /// - Returns: when the next turn is due (`now`, if work is left); nil: only after a wake. A commit may make it due
    ///   earlier (`isDueAfterCommit`).
    package func turn(now: Instant, for duration: Duration = turnLimit) -> Instant? {
        guard !isStopped else { return nil }
        precondition(!isInTurn.exchange(true, ordering: .acquiring), "the turns of a worker do not overlap")
        defer { isInTurn.store(false, ordering: .releasing) }
        let limit = now + duration
        var next: Instant?
        var time = now
        inbox.beginTurn()
        dueEnd.store(0, ordering: .relaxed)
        commitsPassed.store(0, ordering: .relaxed)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        repeat {
            next = run(from: time, until: limit)
            time = setting.clock.now()
        } while !inbox.endTurn(force: isStopped || time >= limit)
        publish(time)
        if isStopped { return nil }
        if time >= limit { return time }
        dueEnd.store(intake?.dueEnd ?? 0, ordering: .relaxed)
        return next
    }

    private func run(from start: Instant, until limit: Instant) -> Instant? {
        var now = start
        settle()
        restartIfFailed(now)
        if let stopBy {
            intake?.keepUnrouted()
            guard window.offered + backfillsOffered == 0 || now >= stopBy || intake == nil else { return stopBy }
            stop(now)
            return nil
        }
        if mustResume.exchange(false, ordering: .acquiring) { resume(now) }
        if intake == nil, !open(now) { return troubleUntil }
        if backfillsChanged.exchange(false, ordering: .acquiring) { beginBackfills(now) }
        let bound = TurnBound(setting.clock, limit, setting.interruption)
        while true {
            // Dead letters come before reading and offering: both wait until they are stored.
            flushDeadLetters(now)
            let read = self.read(now, bound)
            flushDeadLetters(now)
            let offered = offer(now)
            let again = !read && !offered && backfill(now, bound)
            let settled = settle()
            guard read || offered || settled || again else { break }
            now = setting.clock.now()
            if now >= limit { break }
        }
        if now < limit {
            intake?.keepUnrouted()
            for backfill in backfills { backfill.keepUnrouted() }
        }
        noteSettled()
        noteProgress(now)
        if let unsavedSince, now - unsavedSince >= setting.policy.checkpointInterval { checkpoint(now) }
        return now >= limit ? now : nextTurn(now)
    }

    /// Processes the destination's answers and the inbox.
    /// - Returns: whether anything was settled.
    @discardableResult
    private func settle() -> Bool {
        destination.resume()
        stopBy = inbox.take(into: &settled)
        guard !settled.isEmpty else { return false }
        // An answer may have come after the turn began; the wait that it asks for begins with it.
        let now = setting.clock.now()
        for (offer, settlement) in settled {
            if let kind = offer.backfill {
                apply(offer.id, settlement, to: kind, now)
            } else {
                apply(offer.id, settlement, now)
            }
        }
        settled.removeAll(keepingCapacity: true)
        return true
    }

    private func stop(_ now: Instant) {
        flushDeadLetters(now)
        noteSettled()
        noteProgress(now)
        if intake != nil {
            if unsavedSince != nil { checkpoint(now, isLast: true) }
            // If the last checkpoint failed, the destination is closed already.
            if intake != nil { destination.close() }
        }
        stopped.store(true, ordering: .releasing)
    }
}
