import Platform
import Synchronization

/// A worker's place in a pool:
///
///     let place = pool.register()
///     let worker = DeliveryWorker(…, wake: place.wake)
///     place.begin { worker.turn(now: $0, for: $1) }
// Unchecked: `turn` is set before the pool knows the place. After that it is used only by the thread that runs the
// turn, and by a caller to whom the pool has reported that no turn runs or will run.
package final class RoutingPlace: @unchecked Sendable {
    /// Stands for "no turn runs" in place of an instant.
    private static let atRest = Int64.min

    private let pool: RoutingPool
    /// The worker's number in the pool; -1 before `begin`.
    private let number = Atomic(-1)
    private let isWoken = Atomic(false)
    private let began = Atomic<Int64>(atRest)
    private var turn: ((Instant, Duration) -> Instant?)?

    init(_ pool: RoutingPool) { self.pool = pool }

    /// Has the pool call `turn` on one of its threads: soon after this call, after each `wake`, and at the instant that
    /// it returned last (nil: only when woken). `turn` gets the current instant and the time that it may use, and must
    /// not wait. The pool releases `turn` after `cancel`, or at its own end. Call this once, from any thread.
    /// - Parameter callsScripts: one event may take the worker milliseconds.
    package func begin(callsScripts: Bool = false, _ turn: sending @escaping (Instant, Duration) -> Instant?) {
        precondition(self.turn == nil && number.load(ordering: .relaxed) < 0, "a place has one turn")
        self.turn = turn
        number.store(pool.admit(self, callsScripts: callsScripts), ordering: .releasing)
        isWoken.store(false, ordering: .sequentiallyConsistent)
        wake()
    }

    /// Requests a turn soon. Several calls before that turn count as one. Any thread; cheap.
    package func wake() {
        guard !isWoken.exchange(true, ordering: .sequentiallyConsistent) else { return }
        let number = number.load(ordering: .acquiring)
        if number >= 0 { pool.wake(number, of: self) }
    }

    /// Requests that no more turns run. A running turn ends as usual. Any thread.
    package func cancel() {
        let number = number.load(ordering: .acquiring)
        if number >= 0, pool.cancel(number, of: self) { release() }
    }

    /// When the running turn began; nil: no turn runs. Any thread.
    package var turnBegan: Instant? {
        let began = began.load(ordering: .relaxed)
        return began == Self.atRest ? nil : Instant(nanoseconds: began)
    }

    /// Called on a pool thread.
    func run(_ now: Instant, for duration: Duration) -> Instant? {
        guard let turn else { return nil }
        began.store(now.nanoseconds, ordering: .relaxed)
        defer { began.store(Self.atRest, ordering: .relaxed) }
        // A wake from here on needs another turn.
        isWoken.store(false, ordering: .sequentiallyConsistent)
        return turn(now, duration)
    }

    /// Releases the closure: no turn runs, and none will.
    func release() { turn = nil }
}
