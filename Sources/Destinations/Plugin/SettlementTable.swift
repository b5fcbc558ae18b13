import Platform

/// The batches that a plugin holds, by token. It only decides; the caller settles.
///
/// A batch is in the table from before its offer until the plugin completes or declines it. At its deadline the batch's
/// events are taken away from the plugin. The plugin may still read the batch's memory, so the batch stays in the
/// table, overdue, until the plugin completes or declines it.
struct SettlementTable<Batch> {
    enum Completion {
        /// The outcomes are valid.
        case settled(Batch)
        /// The deadline has passed. The outcomes are ignored, and the batch's memory may now be freed.
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
    /// The number of overdue batches.
    private(set) var overdue = 0

    /// The number of batches that the plugin holds, overdue ones included.
    var count: Int { entries.count }

    func holds(_ token: UInt64) -> Bool { entries[token] != nil }

    /// The next deadline for `expire`; nil: none until a batch is added.
    var nextDeadline: Instant? { entries.values.lazy.filter { !$0.overdue }.map(\.deadline).min() }

    /// Adds the batch under a new token. 2^64 tokens never run out.
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

    /// Removes a batch that the plugin declined.
    /// - Returns: whether the host may still settle it: it was neither completed nor overdue.
    mutating func withdraw(_ token: UInt64) -> Bool {
        guard let entry = take(token) else { return false }
        return !entry.overdue
    }

    /// Marks the batches whose deadline has passed as overdue, and returns them, oldest first.
    mutating func expire(_ now: Instant) -> [(token: UInt64, batch: Batch)] {
        var expired: [(token: UInt64, batch: Batch)] = []
        for (token, entry) in entries where !entry.overdue && entry.deadline <= now {
            entries[token]?.overdue = true
            overdue += 1
            expired.append((token, entry.batch))
        }
        return expired.sorted { $0.token < $1.token }
    }

    /// Removes all batches after the plugin has stopped.
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
