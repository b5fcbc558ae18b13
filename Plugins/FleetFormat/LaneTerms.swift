/// For how long a lane that several hosts may read belongs to one of them. Pure.
package struct LeaseTerm: Sendable {
    /// How long the broker keeps the lease after it was written.
    package let timeToLive: Duration
    private var renewed: ContinuousClock.Instant
    package private(set) var isLost = false

    /// - Parameter start: a time before the broker wrote the lease.
    package init(timeToLive: Duration, from start: ContinuousClock.Instant) {
        self.timeToLive = timeToLive
        renewed = start
    }

    /// It is valid until then, if it is not lost. The broker's clock may run faster than this one, by a tenth.
    package var end: ContinuousClock.Instant { renewed + timeToLive * 0.9 }

    /// Whether no other owner can have it.
    package func isValid(at now: ContinuousClock.Instant) -> Bool { !isLost && now < end }

    /// How long until the next renewal; at most a third of the time to live.
    package func timeToRenewal(at now: ContinuousClock.Instant) -> Duration {
        max(.zero, (renewed + timeToLive / 3) - now)
    }

    /// - Parameter start: a time before the broker wrote it again.
    package mutating func renew(from start: ContinuousClock.Instant) { renewed = start }

    package mutating func lose() { isLost = true }
}

/// How far a host has read a lane, by the broker's sequences. Pure.
package struct LaneProgress: Sendable {
    /// The last message that the host has taken as a whole.
    package private(set) var taken: UInt64 = 0
    /// The last one that the host has stored: the broker may forget everything up to it, and nothing more.
    package private(set) var durable: UInt64 = 0

    package init() {}

    /// Another host may read on without losing or repeating anything.
    package var isStored: Bool { durable >= taken }

    /// All messages up to this one are stored.
    package mutating func begin(at sequence: UInt64) { (taken, durable) = (sequence, sequence) }

    package mutating func took(_ sequence: UInt64) { taken = max(taken, sequence) }

    package mutating func stored(_ sequence: UInt64) { durable = max(durable, sequence) }

    /// Whether a message that comes again may be acknowledged.
    package func mayAcknowledge(_ sequence: UInt64) -> Bool { sequence <= durable }
}
