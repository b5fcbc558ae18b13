import Platform
import Synchronization

extension ClientLoop {
    /// Requests from other threads. Unchecked: the sender of a connection keeps no reference to it.
    enum Order: @unchecked Sendable {
        case add([ClientConnection])
        /// For a connection, wherever it has moved. `asked`: how many loops do not have it.
        case limit(ClientLimitOrder, connection: UInt64, asked: Int)
        /// Rings the doorbell once this loop has checked all of its sockets.
        case turn(Doorbell)
        /// From each client, read only what it has sent until now.
        case lastReads
        case stop
    }

    /// What a connection must do because of a limit.
    enum ClientLimitOrder {
        /// Another connection has reached a limit, and this one must be closed for it.
        case makeRoom
        case tooMuchBuffered(bytes: Int)
    }
}

/// The orders for a loop, in the order in which they were posted. Unchecked: each function names its thread.
final class OrderQueue: @unchecked Sendable {
    private let posted = Mutex<[ClientLoop.Order]>([])
    /// Belongs to the loop's thread.
    private var received = Fifo<ClientLoop.Order>()

    /// Any thread.
    func post(_ order: ClientLoop.Order) { posted.withLock { $0.append(order) } }

    /// Takes the orders that were posted. The loop's thread.
    func receive() {
        let orders = posted.withLock { posted in
            defer { posted = [] }
            return posted
        }
        for order in orders { received.append(order) }
    }

    /// Whether no received order is left. The loop's thread.
    var isEmpty: Bool { received.isEmpty }

    /// Removes and returns the first received order. The loop's thread.
    func next() -> ClientLoop.Order? { received.popFirst() }
}
