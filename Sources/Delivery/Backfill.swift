import Events
import Platform

/// What goes to a destination again, beside what is new to it: a range of the journal (a replay), or dead
/// letters (a retry). It has a window, a breaker and letters of its own, so that whatever becomes of
/// its events, live delivery's account is untouched. The worker's turns only.
///
/// - One pass at a time: events of ascending positions, from an `EventLog` that ends.
/// - Its events go through the destination's own routes, transforms and mapping, with state of their own: a
///   `dedupe` or `throttle` does not count them against their first passage.
final class Backfill {
    enum Kind: Sendable { case retry, replay }

    let kind: Kind
    var window = InFlightWindow()
    var breaker: Breaker
    var desk: DeadLetterDesk
    /// nil: there is nothing to do.
    private(set) var intake: Intake?
    private(set) var log: (any EventLog)?
    var trouble: Backoff
    var troubleUntil: Instant?
    /// Until then the rate limits hold back what could go.
    var rateUntil: Instant?
    var bucket: TokenBucket?
    var lastError: DeliveryStatus.Failure?

    /// Of a replay: which, with the progress that the store was given last;
    var replay: Replay?
    /// the progress at the last checkpoint that was asked for;
    var asked: Replay.Progress?
    /// and what was settled since it was taken from the store.
    var progress = Replay.Progress(position: 0)
    var missing = ReplayLog.Missing()
    /// What was settled as it was last kept.
    var noted: SettledPositions?
    /// Of a retry: the letters under way,
    var letters: DeadLetterRetry?
    /// and whether they follow on others that were asked for with them.
    var isContinued = false

    private let policy: DeliveryPolicy

    init(_ kind: Kind, policy: DeliveryPolicy, deadLetters: any DeadLetterSink) {
        self.kind = kind
        self.policy = policy
        breaker = Breaker(initial: policy.retryInitial, maximum: policy.retryMaximum)
        trouble = Backoff(initial: policy.retryInitial, maximum: policy.retryMaximum)
        desk = DeadLetterDesk(sink: deadLetters, policy: policy)
    }

    var isActive: Bool { intake != nil }
    /// It was called off: what is on offer still ends, since the destination may not be given more than it takes
    /// at once.
    var isCancelled = false
    var offered: Int { window.offered }

    /// Something waits to be offered.
    var hasNext: Bool {
        guard let intake else { return false }
        return window.hasWaiting || intake.builder.sealed != nil || (intake.isExhausted && !intake.builder.isEmpty)
    }

    /// Everything was read, and each event is settled.
    var isDone: Bool {
        guard let intake else { return false }
        return intake.isExhausted && intake.builder.isEmpty && window.count == 0 && desk.isEmpty
    }

    /// Everything below is settled.
    var settledPosition: UInt64 {
        var position = intake?.position ?? 0
        if let event = intake?.builder.first { position = min(position, event.position) }
        if let event = window.first { position = min(position, event.position) }
        if let letter = desk.first { position = min(position, letter.position) }
        return position
    }

    /// nil: nothing is under way.
    var passage: Passage? {
        if let replay { return replay.passage }
        return letters.map { .retry(tag: $0.tag) }
    }

    /// nil: nothing is under way.
    var settled: SettledPositions? {
        guard let intake else { return nil }
        return SettledPositions(
            routedTo: intake.position,
            unsettled: window.unsettled + desk.unsettled + (intake.builder.first.map { [$0.position..<intake.position] } ?? []),
            known: [0..<settledPosition] + intake.settledBefore)
    }

    func begin(
        _ log: any EventLog, at position: UInt64, router: any EventRouter, _ recollection: Recollection?, maximumEvents: Int,
        maximumBytes: Int, settled: [Range<UInt64>]
    ) {
        noted = nil
        self.log = log
        intake = Intake(
            log: log, router: router, position: position, recollection,
            builder: BatchBuilder(maximumEvents: maximumEvents, maximumBytes: maximumBytes, spare: 2), settled: settled)
    }

    /// Forgets what is under way; outcomes that still arrive mean nothing.
    func end() {
        intake = nil
        log = nil
        window = InFlightWindow(after: window)
        breaker = Breaker(initial: policy.retryInitial, maximum: policy.retryMaximum)
        desk.removeAll()
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
        guard desk.isEmpty, troubleUntil.map({ now >= $0 }) ?? true else { return false }
        let attempts = letters?.letters
        let worked = try intake?.advance(
            now, bound,
            refused: { letter in
                var letter = letter
                letter.attempts = attempts?.first { $0.position == letter.position }?.attempts ?? letter.attempts
                desk.add(letter)
            }, wallClock: wallClock)
        intake?.takeFiltered { _, count in progress.filtered &+= count }
        progress.missing &+= missing.take()
        return worked ?? false
    }

    /// Takes the batch that is to go next into the window.
    /// - Returns: whether one waits there.
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

    /// Ends every wait for a failure's sake.
    func resume(_ now: Instant) {
        breaker.resume(now)
        desk.resume(now)
        troubleUntil = troubleUntil.map { min($0, now) }
    }

    var state: DeliveryStatus.Backfill.State {
        if breaker.isHeld || desk.retryAt != nil { return .held }
        return breaker.state == .closed && troubleUntil == nil ? .running : .retrying
    }
}
