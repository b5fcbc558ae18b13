/// The connections of a loop that wait because the journal had no room: those that have offered events (stalled), and
/// those that must wait behind them (parked). Belongs to the loop's thread.
struct StalledClients {
    /// While this many connections are stalled, no other one tries.
    private static let most = 16

    /// In the order in which they stalled.
    private(set) var stalled: [ClientConnection] = []
    private var parked: [ClientConnection] = []

    var isEmpty: Bool { stalled.isEmpty && parked.isEmpty }

    /// Whether a connection's events may be offered to the journal, although those of another one had no room. A few
    /// events may find some that a large group did not. It keeps no room from the other one, which is the first to try
    /// again when the journal has taken what is queued.
    func mayTake(_ connection: ClientConnection) -> Bool {
        stalled.isEmpty || connection.isStalledInLoop
            || (connection.conduct.standing == .light && stalled.count < Self.most)
    }

    mutating func stall(_ connection: ClientConnection) {
        guard !connection.isStalledInLoop else { return }
        connection.isStalledInLoop = true
        stalled.append(connection)
    }

    mutating func park(_ connection: ClientConnection) {
        guard !connection.isParked else { return }
        connection.isParked = true
        parked.append(connection)
    }

    /// The connection no longer waits for room.
    /// - Returns: the parked connections, if it was the last one: they continue.
    mutating func leave(_ connection: ClientConnection) -> [ClientConnection] {
        guard connection.isStalledInLoop else { return [] }
        connection.isStalledInLoop = false
        stalled.removeAll { $0 === connection }
        guard stalled.isEmpty else { return [] }
        defer { parked = [] }
        for connection in parked { connection.isParked = false }
        return parked
    }

    mutating func forgetClosed() { parked.removeAll { !$0.isOpen } }
}
