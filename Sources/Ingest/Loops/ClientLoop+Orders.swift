import Platform

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
