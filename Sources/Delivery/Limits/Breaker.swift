import Platform

/// A circuit breaker: decides whether a batch may be offered to a destination now.
///
/// While it is closed, batches may be offered. A failure opens it, and nothing is offered until the backoff has passed.
/// Then one batch is offered alone as a probe, and its outcome closes the breaker or opens it for longer.
///
/// When a service goes down, several batches may be in flight, and all of them fail. That is one failure, not several:
/// each offer carries the round in which it was made, and an outcome from an earlier round neither counts as another
/// failure nor closes the breaker.
///
/// A destination is held when an outcome is `.hold` (for example after HTTP 401; see `InFlightWindow`), or when
/// its dead letters cannot be stored. `DeliveryWorker` (DeliveryState.swift) applies both.
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

    /// Counts an offer.
    /// - Returns: the round, which is passed back with the outcome.
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
    ///   - progress: part of the batch was delivered, so the count of failures starts again.
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

    /// Ends the wait, if any: the next offer is the probe. The probe's outcome decides whether the destination stays
    /// held.
    mutating func resume(_ now: Instant) {
        if case .open(let until) = state { state = .open(until: min(until, now)) }
    }

    /// The destination itself is refused (a credential). It is retried slowly.
    mutating func held(round: UInt64, now: Instant) {
        if round == self.round { self.round += 1 }
        isHeld = true
        state = .open(until: now + backoff.maximum)
    }
}
