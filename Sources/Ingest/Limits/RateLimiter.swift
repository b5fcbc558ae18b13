import Platform
import Synchronization

/// How many events a client may send (`rate_limit`).
package struct ClientRateLimit: Sendable, Equatable {
    /// Whose events are counted together.
    package enum Scope: Sendable, Equatable {
        /// Those of a user; over TCP, those of an address.
        case user
        case connection
        /// Those with a write key; without one, those of a user.
        case writeKey
    }

    package var scope: Scope
    package var eventsPerSecond: Int
    /// Events that may come at once after a pause.
    package var burst: Int

    /// - Precondition: both numbers are above 0.
    package init(per scope: Scope, eventsPerSecond: Int, burst: Int) {
        precondition(eventsPerSecond > 0 && burst > 0)
        self.scope = scope
        self.eventsPerSecond = eventsPerSecond
        self.burst = burst
    }
}

/// A token bucket for each user, connection or write key of a source. Any thread.
///
/// Events are counted after they were taken, so a bucket may be overdrawn by one turn of a client or one request. The
/// client then waits until the debt is paid: in the long run its rate is exact.
package final class RateLimiter: Sendable {
    enum Key: Hashable, Sendable {
        case user(ClientUser)
        case connection(UInt64)
        case writeKey([UInt8])
    }

    /// Buckets are searched for full ones, which are as good as none, when there are this many.
    private static let firstPurge = 1024

    /// Each bucket is the time at which it will be full again ("generic cell rate algorithm": one number for a bucket).
    private struct Buckets {
        var full: [Key: Int64] = [:]
        var nextPurge = firstPurge
    }

    let limit: ClientRateLimit
    /// Nanoseconds in which a bucket gets a token, times 1,024: rates above one event a microsecond stay exact enough.
    private let interval: Int64
    private let capacity: Int64
    private let buckets = Mutex(Buckets())

    init(_ limit: ClientRateLimit) {
        self.limit = limit
        interval = max(1, (1_000_000_000 << 10) / Int64(limit.eventsPerSecond))
        capacity = Self.product(interval, limit.burst)
    }

    /// Keys with a bucket that may not be full.
    var bucketCount: Int { buckets.withLock { $0.full.count } }

    /// - Parameter writeKey: nil: the client has none.
    func key(user: ClientUser, connection: UInt64, writeKey: [UInt8]? = nil) -> Key {
        switch limit.scope {
        case .user: .user(user)
        case .connection: .connection(connection)
        case .writeKey: writeKey.map(Key.writeKey) ?? .user(user)
        }
    }

    /// Datagrams have neither a connection nor a write key. Those of a user are counted together, and with the events
    /// of its connections if these are counted by user.
    func key(ofDatagramsOf user: ClientUser) -> Key { .user(user) }

    /// How long the client must wait before it may send; nil: it may send now.
    func wait(_ key: Key, at now: Instant) -> Duration? {
        guard let full = buckets.withLock({ $0.full[key] }) else { return nil }
        let wait = full - capacity - now.nanoseconds
        return wait > 0 ? .nanoseconds(wait) : nil
    }

    /// Counts events that were taken.
    func spend(_ key: Key, events: Int, at now: Instant) {
        guard events > 0 else { return }
        let cost = Self.product(interval, events)
        buckets.withLock { buckets in
            let full = max(buckets.full[key] ?? now.nanoseconds, now.nanoseconds)
            buckets.full[key] = full.addingReportingOverflow(cost).overflow ? .max : full + cost
            guard buckets.full.count >= buckets.nextPurge else { return }
            buckets.full = buckets.full.filter { $0.value > now.nanoseconds }
            buckets.nextPurge = max(Self.firstPurge, buckets.full.count * 2)
        }
    }

    /// Nanoseconds.
    private static func product(_ interval: Int64, _ events: Int) -> Int64 {
        let (product, overflow) = interval.multipliedReportingOverflow(by: Int64(events))
        return overflow ? .max >> 11 : product >> 10
    }
}
