import Platform
import Synchronization

/// A worker's place on the engine's thread:
///
///     let place = engine.register()
///     let worker = DeliveryWorker(…, wake: place.wake)
///     place.begin { worker.turn(now: $0) }
package final class HTTPEngineRegistration: @unchecked Sendable {
    private let door: HTTPEngineDoor
    private let woken = Atomic<Bool>(false)
    private let cancelled = Atomic<Bool>(false)
    // After `begin`, on the engine's thread only.
    private var turn: ((Instant) -> Instant?)?
    private var due: Instant?

    init(_ door: HTTPEngineDoor) {
        self.door = door
    }

    /// Has `turn` called on the engine's thread: soon after this, after each `wake`, and at the
    /// instant that it returned last (nil: only when woken). A turn must not block. It is let go
    /// of on the engine's thread, after `cancel` or at the engine's end. Once; any thread.
    package func begin(_ turn: sending @escaping (Instant) -> Instant?) {
        precondition(self.turn == nil, "a registration has one turn")
        self.turn = turn
        door.admit(self)
        wake()
    }

    /// Asks for a turn soon. Several calls before that turn are one. Any thread, the engine's own
    /// included; cheap.
    package func wake() {
        woken.store(true, ordering: .sequentiallyConsistent)
        door.ring()
    }

    /// Asks for no more turns. One that is running ends as usual. Any thread.
    package func cancel() {
        cancelled.store(true, ordering: .sequentiallyConsistent)
        wake()
    }

    var isWoken: Bool { woken.load(ordering: .sequentiallyConsistent) }
    var isCancelled: Bool { cancelled.load(ordering: .sequentiallyConsistent) }

    /// - Returns: when the next turn is due.
    func turnIfDue(_ now: Instant) -> Instant? {
        guard !isCancelled, let turn else { return nil }
        let isWoken = woken.exchange(false, ordering: .sequentiallyConsistent)
        if isWoken || due.map({ $0 <= now }) == true { due = turn(now) }
        return due
    }

    func release() {
        turn = nil
        due = nil
    }
}
