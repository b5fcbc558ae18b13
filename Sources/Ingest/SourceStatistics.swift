import Events
import Synchronization

/// Counters of one source since the daemon started, and what its clients share across reloads. Any thread.
package final class SourceStatistics: Sendable {
    /// How many recent refusals are kept for `penstock status`.
    package static let recentLimit = 50

    package struct RecentRefusal: Sendable {
        /// Nanoseconds since 1970-01-01 UTC.
        package var time: Int64
        package var refusal: Refusal
    }

    /// How often a limit took effect.
    package struct LimitCount: Sendable, Equatable {
        package var count: UInt64 = 0
        /// The most recent time, in nanoseconds since 1970-01-01 UTC.
        package var last: Int64 = 0
    }

    package struct Snapshot: Sendable {
        /// Events that were stored.
        package var accepted: UInt64
        package var refused: UInt64
        /// Events that were not stored, because the source has stored the same `messageId` before.
        package var duplicates: UInt64
        /// Contains only reasons that occurred.
        package var refusedByReason: [RefusalReason: UInt64]
        /// Events that were accepted although they violate the tracking plan. Contains only reasons that occurred.
        package var violationsByReason: [RefusalReason: UInt64]
        /// Events that were accepted although something about them is unusual, or was repaired. Contains only what
        /// occurred.
        package var normalised: [Normalisation: UInt64]
        package var connections: Int
        /// Contains only limits that took effect.
        package var limits: [ClientLimit: LimitCount]
        /// Oldest first.
        package var recent: [RecentRefusal]
    }

    fileprivate struct Refused {
        var byReason: [RefusalReason: UInt64] = [:]
        /// A ring buffer: once it is full, `oldest` is the index of the oldest entry.
        var recent: [RecentRefusal] = []
        var oldest = 0
        /// How many refusals were counted, and how many of them were kept in `recent` at some time.
        var total: UInt64 = 0
        var kept: UInt64 = 0
    }

    private let accepted = Atomic<UInt64>(0)
    private let duplicates = Atomic<UInt64>(0)
    private let connections = Atomic<Int>(0)
    private let refused = Mutex(Refused())
    private let violations = Mutex<[RefusalReason: UInt64]>([:])
    private let normalised = Mutex<[Normalisation: UInt64]>([:])
    private let limits = Mutex<[ClientLimit: LimitCount]>([:])
    /// All open connections, by user, including those accepted under an earlier configuration.
    private let userConnections = Mutex(UserConnections())
    /// Bytes of memory of connections that must be closed and are still open. Any thread.
    var closingBytes: Int { bytesToClose.load(ordering: .relaxed) }
    private let bytesToClose = Atomic<Int>(0)

    func withUserConnections<Result>(_ body: (inout UserConnections) -> Result) -> Result {
        userConnections.withLock { users in
            defer { bytesToClose.store(users.closingBytes, ordering: .relaxed) }
            return body(&users)
        }
    }

    /// The source's memory of message ids. Like the counters, it applies to connections of all configurations.
    package let deduplication = Deduplication()

    private let limiter = Mutex<RateLimiter?>(nil)

    package init() {}

    /// The buckets of all sockets of the source. They continue if a reload keeps the limit.
    func rateLimiter(_ limit: ClientRateLimit?) -> RateLimiter? {
        limiter.withLock { limiter in
            if limiter?.limit != limit { limiter = limit.map(RateLimiter.init) }
            return limiter
        }
    }

    /// Counts events that a source has brought in before.
    package func skip(duplicates count: Int) { duplicates.add(UInt64(count), ordering: .relaxed) }

    func accept(_ count: Int, duplicates: Int = 0) {
        accepted.add(UInt64(count), ordering: .relaxed)
        if duplicates > 0 { self.duplicates.add(UInt64(duplicates), ordering: .relaxed) }
    }

    /// Counts a violation of the tracking plan by an event that is accepted anyway.
    func note(_ reason: RefusalReason) {
        violations.withLock { $0[reason, default: 0] += 1 }
    }

    func normalise(_ counts: NormalisationCounts) {
        guard !counts.isEmpty else { return }
        normalised.withLock { normalised in
            for (kind, count) in counts { normalised[kind, default: 0] += UInt64(count) }
        }
    }

    package func refuse(_ refusal: Refusal, at time: Int64) {
        refuse([RefusedLine(line: 0, refusal: refusal)], latest: [refusal], at: time)
    }

    /// Counts a group of refused lines.
    /// - Parameter latest: the last of these refusals, with their explanations.
    func refuse(_ lines: [RefusedLine], latest: [Refusal], at time: Int64) {
        refused.withLock { refused in
            refused.total += UInt64(lines.count)
            var at = 0
            while at < lines.count {
                // Consecutive bad lines usually share a reason, so each run costs one dictionary access.
                let first = at
                while at < lines.count, lines[at].reason == lines[first].reason { at += 1 }
                refused.byReason[lines[first].reason, default: 0] += UInt64(at - first)
            }
            for refusal in latest { refused.keep(RecentRefusal(time: time, refusal: refusal)) }
        }
    }

    /// A place in the sequence of refusals.
    package struct RefusalPlace: Sendable {
        fileprivate var total: UInt64 = 0
        fileprivate var kept: UInt64 = 0

        /// Before the first refusal.
        package init() {}

        fileprivate init(after refused: Refused) {
            total = refused.total
            kept = refused.kept
        }
    }

    /// The place after the last refusal.
    package var refusalEnd: RefusalPlace { refused.withLock { RefusalPlace(after: $0) } }

    /// The refusals since `place`, which is moved to the end.
    /// - Returns: those that are still kept, oldest first, and the number of all others.
    package func refusals(since place: inout RefusalPlace) -> (recent: [RecentRefusal], others: UInt64) {
        refused.withLock { refused in
            guard refused.total > place.total else { return ([], 0) }
            let new = refused.total - place.total
            let recent = refused.inOrder.suffix(Int(clamping: refused.kept - place.kept))
            place = RefusalPlace(after: refused)
            return (Array(recent), new - min(new, UInt64(recent.count)))
        }
    }

    func limit(_ limit: ClientLimit, at time: Int64) {
        limits.withLock {
            $0[limit, default: LimitCount()].count += 1
            $0[limit]?.last = time
        }
    }

    /// - Returns: the number of open connections, including this one.
    func connect() -> Int { connections.add(1, ordering: .relaxed).newValue }
    func disconnect() { connections.subtract(1, ordering: .relaxed) }

    package func snapshot() -> Snapshot {
        let refused = self.refused.withLock { $0 }
        return Snapshot(
            accepted: accepted.load(ordering: .relaxed),
            refused: refused.byReason.values.reduce(0, +),
            duplicates: duplicates.load(ordering: .relaxed),
            refusedByReason: refused.byReason,
            violationsByReason: violations.withLock { $0 },
            normalised: normalised.withLock { $0 },
            connections: connections.load(ordering: .relaxed),
            limits: limits.withLock { $0 },
            recent: refused.inOrder)
    }
}

extension SourceStatistics.Refused {
    /// Oldest first.
    fileprivate var inOrder: [SourceStatistics.RecentRefusal] { Array(recent[oldest...] + recent[..<oldest]) }

    fileprivate mutating func keep(_ refusal: SourceStatistics.RecentRefusal) {
        kept += 1
        if recent.count < SourceStatistics.recentLimit {
            recent.append(refusal)
        } else {
            recent[oldest] = refusal
            oldest = (oldest + 1) % SourceStatistics.recentLimit
        }
    }
}
