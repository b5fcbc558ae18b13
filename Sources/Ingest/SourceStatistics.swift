import Events
import Synchronization

/// What came through one source since the daemon started. Any thread.
package final class SourceStatistics: Sendable {
    /// The most recent refusals that are kept for `penstock status`.
    package static let recentLimit = 50

    package struct RecentRefusal: Sendable {
        /// Nanoseconds since 1970-01-01 UTC.
        package var time: Int64
        package var refusal: Refusal
    }

    package struct Snapshot: Sendable {
        package var accepted: UInt64
        package var refused: UInt64
        /// Only reasons that occurred.
        package var refusedByReason: [RefusalReason: UInt64]
        /// Accepted, but not as the tracking plan has it. Only reasons that occurred.
        package var violationsByReason: [RefusalReason: UInt64]
        package var connections: Int
        /// Oldest first.
        package var recent: [RecentRefusal]
    }

    private struct Refused {
        var byReason: [RefusalReason: UInt64] = [:]
        var recent: [RecentRefusal] = []
    }

    private let accepted = Atomic<UInt64>(0)
    private let connections = Atomic<Int>(0)
    private let refused = Mutex(Refused())
    private let violations = Mutex<[RefusalReason: UInt64]>([:])

    package init() {}

    func accept(_ count: Int) {
        accepted.add(UInt64(count), ordering: .relaxed)
    }

    /// An event that is not as planned is taken all the same.
    func note(_ reason: RefusalReason) {
        violations.withLock { $0[reason, default: 0] += 1 }
    }

    package func refuse(_ refusal: Refusal, at time: Int64) {
        refused.withLock {
            $0.byReason[refusal.reason, default: 0] += 1
            if $0.recent.count == Self.recentLimit { $0.recent.removeFirst() }
            $0.recent.append(RecentRefusal(time: time, refusal: refusal))
        }
    }

    /// - Returns: how many connections there are now, this one included.
    func connect() -> Int { connections.add(1, ordering: .relaxed).newValue }
    func disconnect() { connections.subtract(1, ordering: .relaxed) }

    package func snapshot() -> Snapshot {
        let refused = self.refused.withLock { $0 }
        return Snapshot(
            accepted: accepted.load(ordering: .relaxed),
            refused: refused.byReason.values.reduce(0, +),
            refusedByReason: refused.byReason,
            violationsByReason: violations.withLock { $0 },
            connections: connections.load(ordering: .relaxed),
            recent: refused.recent)
    }
}
