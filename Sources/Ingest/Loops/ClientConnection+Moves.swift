import Platform

extension ClientConnection {
    /// Leaves its event loop for the one with this number. The caller hands it over, and uses it no more.
    func depart(from poll: SocketPoll, toLoop number: Int) {
        transport.unregister(from: poll)
        assign(toLoop: number)
        isLeft = false
        notedEnd = 0
        onTooMuchBuffered = nil
    }
}
