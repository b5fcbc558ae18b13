/// The queue of connections that wait for a turn. Pure.
///
/// - Users take turns. A user waits for at most one turn of each other user, however many connections the others have.
/// - Of one user's connections, the trusted ones come before the others, and of these the light ones: a client that
///   sends an event now and then does not wait for those that send as much as they can. (The network scheduler FQ-CoDel
///   treats sparse flows like this, RFC 8290.)
/// - After `lightInARow` light connections, a connection that is not light is served. Of these, `trustedInARow` trusted
///   ones are served in a row, then one of the others. So none waits forever.
struct FairQueue<Item> {
    static var lightInARow: Int { 32 }
    static var trustedInARow: Int { 8 }

    private struct Line {
        var light = Fifo<Item>()
        var heavy = Fifo<Item>()
        var others = Fifo<Item>()
        /// Light connections served since the last connection that is not light.
        var lightInARow = 0
        /// Heavy trusted connections served since the last other one.
        var trustedInARow = 0

        var trustedCount: Int { light.count + heavy.count }
        var isEmpty: Bool { light.isEmpty && heavy.isEmpty && others.isEmpty }

        mutating func next(trustedOnly: Bool) -> Item? {
            let hasRest = !heavy.isEmpty || (!others.isEmpty && !trustedOnly)
            if !light.isEmpty, !hasRest || lightInARow < FairQueue.lightInARow {
                lightInARow += 1
                return light.popFirst()
            }
            lightInARow = 0
            if trustedOnly || (!heavy.isEmpty && (others.isEmpty || trustedInARow < FairQueue.trustedInARow)) {
                guard let item = heavy.popFirst() else { return nil }
                trustedInARow += 1
                return item
            }
            trustedInARow = 0
            return others.popFirst()
        }
    }

    private var lines: [ClientUser: Line] = [:]
    /// Users with queued connections, in the order of their turns.
    private var turns = Fifo<ClientUser>()
    private(set) var count = 0
    private(set) var trustedCount = 0

    var isEmpty: Bool { count == 0 }

    mutating func add(_ item: Item, user: ClientUser, _ standing: Conduct.Standing) {
        count += 1
        if standing != .other { trustedCount += 1 }
        if lines[user] == nil { turns.append(user) }
        switch standing {
        case .light: lines[user, default: Line()].light.append(item)
        case .trusted: lines[user, default: Line()].heavy.append(item)
        case .other: lines[user, default: Line()].others.append(item)
        }
    }

    /// Removes and returns the next connection.
    /// - Parameter trustedOnly: leave the others in the queue.
    mutating func next(trustedOnly: Bool = false) -> Item? {
        guard count > 0, !trustedOnly || trustedCount > 0 else { return nil }
        for _ in 0..<turns.count {
            guard let user = turns.popFirst(), var line = lines.removeValue(forKey: user) else { return nil }
            let trusted = line.trustedCount
            let item = line.next(trustedOnly: trustedOnly)
            trustedCount -= trusted - line.trustedCount
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
