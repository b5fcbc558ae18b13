import Events
import Platform

/// Decides when a worker's turn stops routing: at its deadline, or when the worker is asked to stop. Each turn routes
/// at least one event, so a backlog always shrinks.
struct TurnBound {
    /// Events routed between two looks at the clock. One event takes a few microseconds.
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

    /// The worker was asked to stop. A router's decision after that doesn't count.
    @inline(__always)
    var isInterrupted: Bool { interruption.isRaised }

    /// Counts a routed event.
    /// - Parameter mayTakeLong: the router calls scripts, so the clock is read after each event.
    /// - Returns: whether the turn stops routing.
    @inline(__always)
    mutating func isOver(mayTakeLong: Bool) -> Bool {
        unlooked += 1
        guard mayTakeLong || unlooked >= Self.stride else { return isInterrupted }
        unlooked = 0
        return isInterrupted || clock.now() >= deadline
    }
}
