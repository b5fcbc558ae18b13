/// The queue of connections that wait for a turn. Pure.
///
/// - Users take turns. A user waits for at most one turn of each other user, however many connections the others have.
/// - Of one user's connections, the trusted ones (recent events and no recent refused lines) come first. After
///   `trustedInARow` of them, one of the others is served, so none waits forever.
struct FairQueue<Item> {
    static var trustedInARow: Int { 8 }

    private struct Line {
        var trusted = Fifo<Item>()
        var others = Fifo<Item>()
        /// Trusted connections served since the last other one.
        var inARow = 0

        var isEmpty: Bool { trusted.isEmpty && others.isEmpty }

        mutating func next(trustedOnly: Bool) -> Item? {
            if trustedOnly || (!trusted.isEmpty && (others.isEmpty || inARow < FairQueue.trustedInARow)) {
                guard let item = trusted.popFirst() else { return nil }
                inARow += 1
                return item
            }
            inARow = 0
            return others.popFirst()
        }
    }

    private var lines: [ClientUser: Line] = [:]
    /// Users with queued connections, in the order of their turns.
    private var turns = Fifo<ClientUser>()
    private(set) var count = 0
    private(set) var trustedCount = 0

    var isEmpty: Bool { count == 0 }

    mutating func add(_ item: Item, user: ClientUser, isTrusted: Bool) {
        count += 1
        if isTrusted { trustedCount += 1 }
        if lines[user] == nil { turns.append(user) }
        if isTrusted {
            lines[user, default: Line()].trusted.append(item)
        } else {
            lines[user, default: Line()].others.append(item)
        }
    }

    /// Removes and returns the next connection.
    /// - Parameter trustedOnly: leave the others in the queue.
    mutating func next(trustedOnly: Bool = false) -> Item? {
        guard count > 0, !trustedOnly || trustedCount > 0 else { return nil }
        for _ in 0..<turns.count {
            guard let user = turns.popFirst(), var line = lines.removeValue(forKey: user) else { return nil }
            let trusted = line.trusted.count
            let item = line.next(trustedOnly: trustedOnly)
            trustedCount -= trusted - line.trusted.count
            if item != nil { count -= 1 }
            if !line.isEmpty {
                lines[user] = line
                turns.append(user)
            }
            if let item { return item }
        }
        return nil
    }
}
