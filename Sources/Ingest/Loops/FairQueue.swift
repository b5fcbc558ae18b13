/// The queue of connections that wait for a turn. Pure.
///
/// - Users take turns. A user waits for at most one turn of each other user, however many connections the others have.
/// - Of one user's connections, the trusted ones come before the others, and of these the light ones: a client that
///   sends an event now and then does not wait for those that send as much as they can. (The network scheduler FQ-CoDel
///   treats sparse flows like this, RFC 8290.)
/// - After `lightInARow` light connections, a connection that is not light is served. Of these, `trustedInARow` trusted
///   ones are served in a row, then one of the others. So none waits forever.
// Not copyable: a copy would share its lines.
struct FairQueue<Item>: ~Copyable {
    static var lightInARow: Int { 32 }
    static var trustedInARow: Int { 8 }

    /// The queued connections of one user.
    private final class Line {
        let user: ClientUser
        private var light = Fifo<Item>()
        private var heavy = Fifo<Item>()
        private var others = Fifo<Item>()
        /// Light connections served since the last connection that is not light, or since the line was empty.
        private var lightInARow = 0
        /// Heavy trusted connections served since the last other one, or since the line was empty.
        private var trustedInARow = 0

        init(_ user: ClientUser) { self.user = user }

        var trustedCount: Int { light.count + heavy.count }
        var isEmpty: Bool { light.isEmpty && heavy.isEmpty && others.isEmpty }

        func add(_ item: Item, _ standing: Conduct.Standing) {
            switch standing {
            case .light: light.append(item)
            case .trusted: heavy.append(item)
            case .other: others.append(item)
            }
        }

        func next(trustedOnly: Bool) -> Item? {
            let item = take(trustedOnly: trustedOnly)
            if isEmpty { (lightInARow, trustedInARow) = (0, 0) }
            return item
        }

        private func take(trustedOnly: Bool) -> Item? {
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

    /// The lines that are not empty, and the last one.
    private var lines: [ClientUser: Line] = [:]
    /// The line of the connection that was added last. Mostly the next one is the same user's: then no line is looked
    /// for, and none is made.
    private var last: Line?
    /// The lines that are not empty, in the order of their users' turns.
    private var turns = Fifo<Line>()
    private(set) var count = 0
    private(set) var trustedCount = 0

    var isEmpty: Bool { count == 0 }
    /// How many users' lines are in memory. For tests.
    var keptUsers: Int { lines.count }

    mutating func add(_ item: Item, user: ClientUser, _ standing: Conduct.Standing) {
        count += 1
        if standing != .other { trustedCount += 1 }
        let line = line(of: user)
        if line.isEmpty { turns.append(line) }
        line.add(item, standing)
    }

    /// Removes and returns the next connection.
    /// - Parameter trustedOnly: leave the others in the queue.
    mutating func next(trustedOnly: Bool = false) -> Item? {
        guard count > 0, !trustedOnly || trustedCount > 0 else { return nil }
        for _ in 0..<turns.count {
            guard let line = turns.popFirst() else { return nil }
            let trusted = line.trustedCount
            let item = line.next(trustedOnly: trustedOnly)
            trustedCount -= trusted - line.trustedCount
            if item != nil { count -= 1 }
            if !line.isEmpty {
                turns.append(line)
            } else if line !== last {
                lines[line.user] = nil
            }
            if let item { return item }
        }
        return nil
    }

    private mutating func line(of user: ClientUser) -> Line {
        if let last {
            if last.user == user { return last }
            if last.isEmpty { lines[last.user] = nil }
        }
        let line = lines[user] ?? makeLine(user)
        last = line
        return line
    }

    private mutating func makeLine(_ user: ClientUser) -> Line {
        let line = Line(user)
        lines[user] = line
        return line
    }
}
