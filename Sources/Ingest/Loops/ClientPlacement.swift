import Synchronization

/// Assigns each new client to the thread that serves the fewest, and delivers clients and orders to the threads. Any
/// thread.
final class ClientPlacement: Sendable {
    private let loops = Mutex<[ClientLoop]>([])
    private let last = Atomic<UInt64>(0)

    /// Sets the threads once they exist. With an empty list, orders are discarded.
    func set(_ loops: [ClientLoop]) { self.loops.withLock { $0 = loops } }

    /// A number that no other connection or listener has.
    func nextNumber() -> UInt64 { last.add(1, ordering: .relaxed).newValue }

    /// The loop that will serve the next client, and the client's id.
    func next() -> (loop: Int, id: UInt64) {
        let number = nextNumber()
        let loop = loops.withLock { loops in
            // Ties are broken in rotation.
            let first = Int(number % UInt64(max(loops.count, 1)))
            return (0..<loops.count).map { (first + $0) % loops.count }.min { loops[$0].load < loops[$1].load } ?? 0
        }
        return (loop, ClientIdentity.make(number, loop: loop))
    }

    func hand(_ order: ClientLoop.Order, to loop: Int) {
        loops.withLock { loop < $0.count ? $0[loop] : nil }?.post(order)
    }
}
