import Synchronization

/// The names of users for events: one lookup for each uid in some minutes, which may block as `Accounts` describes. A
/// lookup by one thread does not delay another's answers from memory. Any thread.
package final class UserNameCache: Sendable {
    /// How long an answer is used, also that there is no name.
    package static let lifetime = Duration.seconds(300)
    /// The maximum of remembered uids: about those of a busy machine. At the limit, all are forgotten.
    package static let limit = 4096

    package static let shared = UserNameCache()

    private struct Entry {
        var name: String?
        var time: Instant
    }

    private let entries = Mutex<[UInt32: Entry]>([:])
    private let clock: any Clock
    private let ask: @Sendable (UInt32) -> String?

    /// - Parameter ask: the name of a user, or nil.
    package init(
        clock: any Clock = SystemClock(), ask: @escaping @Sendable (UInt32) -> String? = Accounts.userName
    ) {
        self.clock = clock
        self.ask = ask
    }

    /// The name of a user; nil: the user does not exist, or the lookup failed.
    @Sendable
    package func lookUp(_ id: UInt32) -> String? {
        let now = clock.now()
        let known = entries.withLock { $0[id] }
        if let known, now - known.time < Self.lifetime { return known.name }
        let name = ask(id)
        entries.withLock { entries in
            if entries.count >= Self.limit, entries[id] == nil { entries.removeAll(keepingCapacity: true) }
            entries[id] = Entry(name: name, time: now)
        }
        return name
    }
}
