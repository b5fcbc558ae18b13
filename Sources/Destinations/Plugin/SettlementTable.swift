import Platform

/// Which batches a plugin holds, by token. Only decides; whoever calls settles.
///
/// A batch is in here from before it is offered until the plugin completes or declines it. At its
/// deadline its events are taken away from it, but its memory may still be read by the plugin, so
/// the batch itself stays, overdue, until the plugin lets go of it.
struct SettlementTable<Batch> {
    enum Completion {
        /// The outcomes count.
        case settled(Batch)
        /// Its deadline has passed: they don't, and its memory is free now.
        case late(Batch)
        case repeated
        case unknown
    }

    private struct Entry {
        var batch: Batch
        var deadline: Instant
        var overdue = false
    }

    private var entries: [UInt64: Entry] = [:]
    private var next: UInt64 = 1
    /// How many are kept only for the plugin's sake.
    private(set) var overdue = 0

    /// How many the plugin has, overdue ones included.
    var count: Int { entries.count }

    /// When `expire` has something to do next; nil: not before something is added.
    var nextDeadline: Instant? { entries.values.lazy.filter { !$0.overdue }.map(\.deadline).min() }

    /// Gives the batch a token that was never used before. 2^64 of them last for ever.
    mutating func add(_ batch: Batch, deadline: Instant) -> UInt64 {
        let token = next
        next &+= 1
        entries[token] = Entry(batch: batch, deadline: deadline)
        return token
    }

    mutating func complete(_ token: UInt64) -> Completion {
        guard let entry = take(token) else { return token != 0 && token < next ? .repeated : .unknown }
        return entry.overdue ? .late(entry.batch) : .settled(entry.batch)
    }

    /// The plugin declined the batch.
    /// - Returns: whether it is still ours to settle: neither completed nor overdue meanwhile.
    mutating func withdraw(_ token: UInt64) -> Bool {
        guard let entry = take(token) else { return false }
        return !entry.overdue
    }

    /// Makes those overdue whose deadline has come, and gives them, oldest first.
    mutating func expire(_ now: Instant) -> [(token: UInt64, batch: Batch)] {
        var expired: [(token: UInt64, batch: Batch)] = []
        for (token, entry) in entries where !entry.overdue && entry.deadline <= now {
            entries[token]?.overdue = true
            overdue += 1
            expired.append((token, entry.batch))
        }
        return expired.sorted { $0.token < $1.token }
    }

    /// Lets go of everything, when the plugin has stopped.
    mutating func removeAll() {
        entries.removeAll()
        overdue = 0
    }

    private mutating func take(_ token: UInt64) -> Entry? {
        guard let entry = entries.removeValue(forKey: token) else { return nil }
        if entry.overdue { overdue -= 1 }
        return entry
    }
}
