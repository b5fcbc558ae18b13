// Delivery: takes the journal's events to one destination, in order, and keeps account of each.
//
// Invariants
// - A position is settled when its event is delivered, filtered out or durably dead-lettered. The
//   cursor only ever names a position below which everything is settled, and only after the
//   destination's `checkpoint()` has made durable what it was given.
// - Batches are offered in journal order. Once one must be offered again, nothing newer is
//   offered until it got through: what a failure can put out of order, or a crash repeat, is what
//   was in flight. With `order: user` that goes for each user's events instead (UserLanes).
// - A batch is offered only when each event below it is settled or in flight, and dead letters are
//   durable (but for what waits in a user's lane). So a destination that takes one batch at a time may record the position of a batch's
//   first event as settled before it writes the batch.
// - Memory: (in flight + 2) batches and one read of the journal; 16 batches more with `order: user`; while a
//   replay or a retry is under way, its share of the in-flight window, 2 batches and one read (Backfill).
// - Live delivery first: what goes again is read and offered only when there is nothing new to do.
// - No outcome is "done": a claim that is dropped, an outcome that is missing, means "again".
//
// Threads: a worker's turns never overlap. They run on a thread of its own where the destination may block
// (WorkerRunner: files and plugins), or on the few threads of a pool (RoutingPool: HTTP destinations), each turn on
// any of them.
//
// It never drops an event, never waits inside a turn of the pool's, and never knows what kind of destination it serves.

import Events
import Platform
import Synchronization
import Telemetry

/// Serves one destination. Whoever owns the thread calls `turn` whenever `wake` was called or the
/// time has come that the last turn returned: `WorkerRunner`, or `RoutingPool` for many workers.
// Unchecked: everything but `inbox`, `ledger` and `stopped` is touched inside `turn` only, and
// turns never overlap.
package final class DeliveryWorker: @unchecked Sendable {
    package struct Setting: Sendable {
        package var name: String
        package var policy: DeliveryPolicy
        package var log: any EventLog
        package var cursors: any CursorStore
        package var clock: any Clock
        package var telemetry: Telemetry
        /// What decides about events that go again: for a replay, or (nil) for dead letters. Called in turns.
        package var backfillRouter: (@Sendable (Replay?, Interruption) throws -> any EventRouter)?
        /// Raised when the worker is asked to stop, so that its routers end a script that runs.
        package var interruption = Interruption()

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

    /// How long a turn may go on when work is endless, on a thread of the worker's own: it looks for outcomes and for
    /// a request to stop between turns. A pool's turns are shorter.
    package static let turnLimit = Duration.milliseconds(50)
    /// With `batch.wait: 0`, how long a batch may grow while a slow script routes what was read.
    static let slowBatchWait = Duration.seconds(1)

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
    var breaker: Breaker
    var desk: DeadLetterDesk
    /// nil while the destination is not open.
    var intake: Intake?
    /// The router has not been shown yet what it has to remember.
    var recollects = true
    /// nil: the destination's order is kept, not each user's.
    var lanes: UserLanes?
    /// nil: no rate limit.
    var gate: RateGate?
    /// While the rate limit holds back what could go: until when.
    var rateUntil: Instant?
    /// The cursor's position as it was last given to the store.
    var checkpointed: UInt64 = 0
    /// What was settled as it was last kept; of a destination that settles at once.
    var noted: SettledPositions?
    /// When the first position was settled that no checkpoint covers.
    var unsavedSince: Instant?
    /// How often events were refused before a restart that reads them again, by position: at most those that the
    /// window and the lanes held.
    var carriedRefusals: [UInt64: UInt32] = [:]
    /// Opening, reading and checkpoints: what fails without any batch being at fault.
    var trouble: Backoff
    var troubleUntil: Instant?
    /// In the order in which they get what live delivery leaves.
    let backfills: [Backfill]
    /// Somebody wants something to go again, or not any more.
    private let backfillsChanged = Atomic(true)
    /// Somebody asks for the next attempt now.
    private let mustResume = Atomic(false)
    private var settled: [SettlementInbox.Settled] = []
    private var stopBy: Instant?

    /// - Parameters:
    ///   - random: for the jitter; seeded by a simulation.
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
        desk = DeadLetterDesk(sink: deadLetters, policy: policy)
        self.deadLetters = deadLetters
        backfills = [
            Backfill(.retry, policy: policy, deadLetters: deadLetters), Backfill(.replay, policy: policy, deadLetters: deadLetters),
        ]
        checkpointed = setting.cursors.cursor(of: setting.name).position
        destination.attach(wake: wake)
        let start = checkpointed
        ledger.update { $0.positionSettled = start }
    }

    /// Any thread.
    package var name: String { setting.name }
    /// Any thread: for how long events are collected before a batch goes.
    package var batchWait: Duration { setting.policy.batchWait }
    /// Any thread.
    package var status: DeliveryStatus { ledger.snapshot }
    /// Any thread: nothing more is going to happen; the destination is closed, and the cursor store
    /// has the last cursor (the caller commits it).
    package var isStopped: Bool { stopped.load(ordering: .acquiring) }

    /// Any thread. No more is read or offered, and a script that runs is interrupted; what is in flight may still be
    /// settled until `deadline`. The rest waits in the journal for the next start.
    package func requestStop(by deadline: Instant) {
        setting.interruption.raise()
        inbox.requestStop(by: deadline)
    }

    /// Any thread: the store has a replay that it had not, or has it no more, or the sink has letters to be tried again.
    package func backfill() {
        backfillsChanged.store(true, ordering: .releasing)
        inbox.ring()
    }

    /// Any thread: what is retrying, held or failing is tried now instead of when its wait is over; live delivery and what
    /// goes again. Its next failure makes it wait as before.
    package func resume() {
        mustResume.store(true, ordering: .releasing)
        inbox.ring()
    }

    /// Any thread: what would decide about the events of a replay; nil: nothing goes to it again.
    /// - Parameter interruption: ends a script that the router runs.
    package func makeBackfillRouter(_ replay: Replay, _ interruption: Interruption = Interruption()) throws -> (any EventRouter)? {
        try setting.backfillRouter?(replay, interruption)
    }

    /// Any thread: what a router has to be shown before it is asked about a position.
    package func recollection(before position: UInt64, _ router: any EventRouter) -> Recollection? {
        Recollection(before: position, from: setting.cursors.start(of: name), setting.log, router)
    }

    /// Does everything that can be done without waiting, for about `duration`: beyond it at most some events, one event
    /// of a router that calls scripts, and one call to the destination. Any thread; one turn at a time.
    /// - Returns: when the next turn is due (`now`, if there is more to do); nil: only after a wake.
    package func turn(now: Instant, for duration: Duration = turnLimit) -> Instant? {
        guard !isStopped else { return nil }
        precondition(!isInTurn.exchange(true, ordering: .acquiring), "the turns of a worker do not overlap")
        defer { isInTurn.store(false, ordering: .releasing) }
        let limit = now + duration
        var next: Instant?
        var time = now
        inbox.beginTurn()
        repeat {
            next = run(from: time, until: limit)
            time = setting.clock.now()
        } while !inbox.endTurn(force: isStopped || time >= limit)
        publish(time)
        return isStopped ? nil : time >= limit ? time : next
    }

    private func run(from start: Instant, until limit: Instant) -> Instant? {
        var now = start
        settle(now)
        if let stopBy {
            guard window.offered + backfillsOffered == 0 || now >= stopBy || intake == nil else { return stopBy }
            stop(now)
            return nil
        }
        if mustResume.exchange(false, ordering: .acquiring) { resume(now) }
        if intake == nil, !open(now) { return troubleUntil }
        if backfillsChanged.exchange(false, ordering: .acquiring) { beginBackfills(now) }
        let bound = TurnBound(setting.clock, limit, setting.interruption)
        while true {
            // Dead letters before reading and before offering: both wait for them.
            flushDeadLetters(now)
            let read = self.read(now, bound)
            flushDeadLetters(now)
            let offered = offer(now)
            let again = !read && !offered && backfill(now, bound)
            let settled = settle(now)
            guard read || offered || settled || again else { break }
            now = setting.clock.now()
            if now >= limit { break }
        }
        noteSettled()
        noteProgress(now)
        if let unsavedSince, now - unsavedSince >= setting.policy.checkpointInterval { checkpoint(now) }
        return now >= limit ? now : nextTurn(now)
    }

    /// Takes what arrived for the destination, and in the inbox.
    /// - Returns: whether anything did.
    @discardableResult
    private func settle(_ now: Instant) -> Bool {
        destination.resume()
        stopBy = inbox.take(into: &settled)
        guard !settled.isEmpty else { return false }
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
            // Nothing is left to close if the last checkpoint failed.
            if intake != nil { destination.close() }
        }
        stopped.store(true, ordering: .releasing)
    }
}
