import Platform
import Synchronization

/// A worker's place in a pool:
///
///     let place = pool.register()
///     let worker = DeliveryWorker(…, wake: place.wake)
///     place.begin { worker.turn(now: $0, for: $1) }
// Unchecked: `turn` is set before the pool knows the place. Then the thread that runs the turn uses it, and whoever
// learns from the pool that no turn runs or will run.
package final class RoutingPlace: @unchecked Sendable {
    /// In place of an instant: no turn runs.
    private static let atRest = Int64.min

    private let pool: RoutingPool
    /// In the pool; -1 before `begin`.
    private let number = Atomic(-1)
    private let isWoken = Atomic(false)
    private let began = Atomic<Int64>(atRest)
    private var turn: ((Instant, Duration) -> Instant?)?

    init(_ pool: RoutingPool) { self.pool = pool }

    /// Has `turn` called on one of the pool's threads: soon after this, after each `wake`, and at the instant that it
    /// returned last (nil: only when woken). It gets the present instant and how long it may go on. It must not wait.
    /// The pool lets go of it after `cancel`, or at its own end. Once; any thread.
    /// - Parameter callsScripts: one event may take it milliseconds.
    package func begin(callsScripts: Bool = false, _ turn: sending @escaping (Instant, Duration) -> Instant?) {
        precondition(self.turn == nil && number.load(ordering: .relaxed) < 0, "a place has one turn")
        self.turn = turn
        number.store(pool.admit(self, callsScripts: callsScripts), ordering: .releasing)
        isWoken.store(false, ordering: .sequentiallyConsistent)
        wake()
    }

    /// Asks for a turn soon. Several calls before that turn are one. Any thread; cheap.
    package func wake() {
        guard !isWoken.exchange(true, ordering: .sequentiallyConsistent) else { return }
        let number = number.load(ordering: .acquiring)
        if number >= 0 { pool.wake(number, of: self) }
    }

    /// Asks for no more turns. One that runs ends as usual. Any thread.
    package func cancel() {
        let number = number.load(ordering: .acquiring)
        if number >= 0, pool.cancel(number, of: self) { release() }
    }

    /// When the turn began that runs now; nil: none runs. Any thread.
    package var turnBegan: Instant? {
        let began = began.load(ordering: .relaxed)
        return began == Self.atRest ? nil : Instant(nanoseconds: began)
    }

    /// The pool's thread.
    func run(_ now: Instant, for duration: Duration) -> Instant? {
        guard let turn else { return nil }
        began.store(now.nanoseconds, ordering: .relaxed)
        defer { began.store(Self.atRest, ordering: .relaxed) }
        // What is asked for from here on needs another turn.
        isWoken.store(false, ordering: .sequentiallyConsistent)
        return turn(now, duration)
    }

    /// No turn runs, and none will.
    func release() { turn = nil }
}
