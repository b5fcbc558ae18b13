import Synchronization

/// Assigns each new client to the thread for clients that send little, and delivers clients and orders to the threads.
/// Any thread.
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
        let loop = loop(isLight: true)?.number ?? 0
        return (loop, ClientIdentity.make(number, loop: loop))
    }

    /// Of the loops of one kind, the one with the fewest clients.
    func loop(isLight: Bool) -> ClientLoop? {
        loops.withLock { loops in
            loops.filter { $0.isLight == isLight }.min { $0.connectionsServed < $1.connectionsServed }
        }
    }

    /// - Parameter id: of a connection; it may have moved from its first loop.
    func hand(_ limit: ClientLoop.ClientLimitOrder, toConnection id: UInt64) {
        hand(.limit(limit, connection: id, asked: 0), to: ClientIdentity.loop(of: id))
    }

    /// Hands the order to the loop after this one. It ends when all loops were asked: then the connection is closed.
    func forward(_ limit: ClientLoop.ClientLimitOrder, connection: UInt64, from loop: Int, asked: Int) {
        let count = loops.withLock { $0.count }
        guard asked < count else { return }
        hand(.limit(limit, connection: connection, asked: asked), to: (loop + 1) % count)
    }

    func hand(_ order: ClientLoop.Order, to loop: Int) {
        loops.withLock { loop < $0.count ? $0[loop] : nil }?.post(order)
    }
}
