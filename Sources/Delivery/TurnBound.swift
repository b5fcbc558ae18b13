import Events
import Platform

/// Says when a worker's turn stops routing: when its time is over, or when the worker is asked to stop. A turn that
/// is called routes at least one event, so a backlog always shrinks.
struct TurnBound {
    /// How many events are routed between two looks at the clock. An event takes some microseconds.
    static let stride = 16

    private let clock: any Clock
    private let deadline: Instant
    private let interruption: Interruption
    private var unlooked = 0

    init(_ clock: any Clock, _ deadline: Instant, _ interruption: Interruption) {
        self.clock = clock
        self.deadline = deadline
        self.interruption = interruption
    }

    /// The worker is asked to stop: what a router said since then does not count.
    @inline(__always)
    var isInterrupted: Bool { interruption.isRaised }

    /// Counts an event that was routed.
    /// - Parameter mayTakeLong: the router calls scripts, so the clock is looked at after each event.
    /// - Returns: whether the turn stops routing.
    @inline(__always)
    mutating func isOver(mayTakeLong: Bool) -> Bool {
        unlooked += 1
        guard mayTakeLong || unlooked >= Self.stride else { return isInterrupted }
        unlooked = 0
        return isInterrupted || clock.now() >= deadline
    }
}
