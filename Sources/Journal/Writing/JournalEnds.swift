import Synchronization

/// The positions that other threads read without a lock.
final class JournalEnds: Sendable {
    /// The position after the last event that was found when the journal was opened.
    let recovered: UInt64
    private let durableEnd: Atomic<UInt64>
    private let acknowledgedEnd: Atomic<UInt64>
    private let beats = Atomic<UInt64>(0)

    init(_ position: UInt64) {
        recovered = position
        durableEnd = Atomic(position)
        acknowledgedEnd = Atomic(position)
    }

    /// The position after the last event that readers may see.
    var durable: UInt64 {
        get { durableEnd.load(ordering: .acquiring) }
        set { durableEnd.store(newValue, ordering: .releasing) }
    }

    /// The position after the last event that may be acknowledged to clients.
    var acknowledged: UInt64 {
        get { acknowledgedEnd.load(ordering: .acquiring) }
        set { acknowledgedEnd.store(newValue, ordering: .releasing) }
    }

    /// Grows while the writer's thread lives and its disk responds.
    var heartbeat: UInt64 { beats.load(ordering: .relaxed) }
    func beat() { beats.add(1, ordering: .relaxed) }
}
