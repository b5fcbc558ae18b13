import Platform

/// Whether a destination may be offered anything now: a circuit breaker.
///
/// Closed, everything goes. After a failure nothing goes until the backoff has passed; then one
/// batch goes as a probe, alone, and its outcome closes the circuit or opens it for longer.
///
/// Several batches may be on offer when a service goes down, and all of them fail. That is one
/// failure, not several: each offer carries the round it was made in, and an outcome from an
/// earlier round neither opens the circuit further nor closes it.
struct Breaker: Sendable {
    enum State: Sendable, Equatable {
        case closed
        case open(until: Instant)
        case probing
    }

    private(set) var state = State.closed
    private(set) var isHeld = false
    private var backoff: Backoff
    private var round: UInt64 = 0

    init(initial: Duration, maximum: Duration) {
        backoff = Backoff(initial: initial, maximum: maximum)
    }

    func mayOffer(_ now: Instant) -> Bool {
        switch state {
        case .closed: true
        case .open(let until): now >= until
        case .probing: false
        }
    }

    /// Says that a batch is being offered.
    /// - Returns: the round, to be given with its outcome.
    mutating func offered() -> UInt64 {
        if case .open = state { state = .probing }
        return round
    }

    mutating func succeeded(round: UInt64) {
        guard round == self.round else { return }
        backoff.reset()
        state = .closed
        isHeld = false
    }

    /// - Parameters:
    ///   - asked: Retry-After.
    ///   - progress: a part of the batch did get through, so the count of failures starts anew.
    mutating func failed(
        round: UInt64, now: Instant, asked: Duration?, progress: Bool, using random: inout some RandomNumberGenerator
    ) {
        guard round == self.round else {
            if let asked, case .open(let until) = state {
                state = .open(until: max(until, now + min(asked, backoff.maximum)))
            }
            return
        }
        self.round += 1
        if progress { backoff.reset() }
        isHeld = false
        state = .open(until: now + backoff.fail(asked: asked, using: &random))
    }

    /// Ends the wait, if there is one: the next offer is the probe. Whether it is held is for the probe to say.
    mutating func resume(_ now: Instant) {
        if case .open(let until) = state { state = .open(until: min(until, now)) }
    }

    /// The destination itself is refused (a credential): tried again slowly.
    mutating func held(round: UInt64, now: Instant) {
        if round == self.round { self.round += 1 }
        isHeld = true
        state = .open(until: now + backoff.maximum)
    }
}
