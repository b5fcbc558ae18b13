import Events
import Platform

/// A second pass of events to a destination, beside live delivery: a range of the journal (a replay), or dead letters
/// (a retry). It has its own window, breaker and pending dead letters, so its outcomes never affect live delivery's
/// account. Used only in the worker's turns.
///
/// - One pass at a time: events in ascending order of position, from an `EventLog` that ends.
/// - Events pass through the destination's own routes, transforms and mapping, with separate state: a `dedupe` or
///   `throttle` does not count them against their first delivery.
final class Backfill {
    enum Kind: Sendable { case retry, replay }

    let kind: Kind
    var window = InFlightWindow()
    var breaker: Breaker
    var pendingLetters: PendingDeadLetters
    /// nil: nothing to do.
    private(set) var intake: Intake?
    private(set) var log: (any EventLog)?
    var trouble: Backoff
    var troubleUntil: Instant?
    /// Until when the rate limits delay the next batch.
    var rateUntil: Instant?
    var bucket: TokenBucket?
    var lastError: DeliveryStatus.Failure?

    /// The running replay, with the progress that was last given to the store;
    var replay: Replay?
    /// its progress at the last requested checkpoint;
    var asked: Replay.Progress?
    /// and its current progress, counted on from the store's.
    var progress = Replay.Progress(position: 0)
    var missing = ReplayLog.Missing()
    /// The settled positions that were recorded last.
    var noted: SettledPositions?
    /// The dead letters that are being retried,
    var letters: DeadLetterRetry?
    /// and whether they continue an earlier portion of the same request.
    var isContinued = false

    private let policy: DeliveryPolicy

    init(_ kind: Kind, policy: DeliveryPolicy, deadLetters: any DeadLetterSink) {
        self.kind = kind
        self.policy = policy
        breaker = Breaker(initial: policy.retryInitial, maximum: policy.retryMaximum)
        trouble = Backoff(initial: policy.retryInitial, maximum: policy.retryMaximum)
        pendingLetters = PendingDeadLetters(sink: deadLetters, policy: policy)
    }

    var isActive: Bool { intake != nil }
    /// The backfill was cancelled. Batches on offer still run to their end, because the destination must not be offered
    /// more than it takes at once.
    var isCancelled = false
    var offered: Int { window.offered }

    /// Whether a batch waits to be offered.
    var hasNext: Bool {
        guard isActive else { return false }
        return window.hasWaiting || intake?.hasBatch == true
    }

    /// Whether everything was read and every event is settled.
    var isDone: Bool {
        intake?.isUsedUp == true && window.count == 0 && pendingLetters.isEmpty
    }

    /// Everything below is settled.
    var settledPosition: UInt64 {
        var position = intake?.position ?? 0
        if let event = intake?.builder.first { position = min(position, event.position) }
        if let event = window.first { position = min(position, event.position) }
        if let letter = pendingLetters.first { position = min(position, letter.position) }
        return position
    }

    /// nil: no pass is running.
    var passage: Passage? {
        if let replay { return replay.passage }
        return letters.map { .retry(tag: $0.tag) }
    }

    /// nil: no pass is running.
    var settled: SettledPositions? {
        intake?.settled(below: settledPosition, except: window.unsettled + pendingLetters.unsettled)
    }

    func begin(
        _ log: any EventLog, at position: UInt64, router: any EventRouter, _ warmup: StateWarmup?,
        maximumEvents: Int, maximumBytes: Int, settled: [Range<UInt64>]
    ) {
        noted = nil
        self.log = log
        intake = Intake(
            log: log, router: router, position: position, warmup,
            builder: BatchBuilder(maximumEvents: maximumEvents, maximumBytes: maximumBytes, spare: 2), settled: settled)
    }

    /// Discards the running pass. Later outcomes are ignored.
    func end() {
        intake = nil
        log = nil
        window = InFlightWindow(after: window)
        breaker = Breaker(initial: policy.retryInitial, maximum: policy.retryMaximum)
        pendingLetters.removeAll()
        trouble.reset()
        troubleUntil = nil
        rateUntil = nil
        bucket = nil
        replay = nil
        asked = nil
        letters = nil
        isCancelled = false
    }

    /// - Returns: whether anything was read or routed.
    func read(_ now: Instant, _ bound: TurnBound, wallClock: () -> Int64) throws -> Bool {
        guard pendingLetters.isEmpty, troubleUntil.map({ now >= $0 }) ?? true else { return false }
        let attempts = letters?.letters
        let worked = try intake?.advance(
            now, bound,
            refused: { letter in
                var letter = letter
                letter.attempts = attempts?.first { $0.position == letter.position }?.attempts ?? letter.attempts
                pendingLetters.add(letter)
            }, wallClock: wallClock)
        intake?.takeFiltered { _, count in progress.filtered &+= count }
        progress.missing &+= missing.take()
        return worked ?? false
    }

    /// As `Intake.keepUnrouted`.
    func keepUnrouted() { intake?.keepUnrouted() }

    /// Moves the next batch into the window.
    /// - Returns: whether a batch waits there.
    func prepare(maximumInFlight: Int) -> Bool {
        if window.hasWaiting { return true }
        let isLast = intake?.isExhausted ?? true
        guard window.count < maximumInFlight, let batch = intake?.builder.take(partial: isLast) else { return false }
        window.add(batch)
        return true
    }

    func settle(_ id: UInt64, _ settlement: DeliveryClaim.Settlement, _ now: Instant) -> InFlightWindow.Result? {
        window.settle(
            id, settlement, now: now, bound: .init(giveUpAfter: policy.giveUpAfter, attempts: policy.attempts),
            reuse: { intake?.builder.recycle(&$0) })
    }

    /// Ends every wait for a retry.
    func resume(_ now: Instant) {
        breaker.resume(now)
        pendingLetters.resume(now)
        troubleUntil = troubleUntil.map { min($0, now) }
    }

    var state: DeliveryStatus.Backfill.State {
        if breaker.isHeld || pendingLetters.retryAt != nil { return .held }
        return breaker.state == .closed && troubleUntil == nil ? .running : .retrying
    }
}
