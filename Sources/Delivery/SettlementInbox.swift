import Platform
import Synchronization

/// Where outcomes arrive, from any thread, until the worker's next turn takes them. It holds at
/// most one outcome for each batch in flight, since a claim can be used once.
final class SettlementInbox: Sendable {
    typealias Settled = (offer: Offer, settlement: DeliveryClaim.Settlement)

    struct Offer: Sendable {
        /// nil: live delivery's.
        var backfill: Backfill.Kind?
        /// In its window.
        var id: UInt64
    }

    private struct Contents {
        var settled: [Settled] = []
        var stopBy: Instant?
        var isInTurn = false
    }

    private let contents = Mutex(Contents())
    private let wake: @Sendable () -> Void

    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    /// Any thread. Wakes the worker, unless it is in a turn: that looks here before it ends.
    func put(_ offer: Offer, _ settlement: DeliveryClaim.Settlement) {
        let mustWake = contents.withLock {
            $0.settled.append((offer, settlement))
            return !$0.isInTurn
        }
        if mustWake { wake() }
    }

    /// Any thread. The earliest deadline counts.
    func requestStop(by deadline: Instant) {
        contents.withLock { $0.stopBy = min(deadline, $0.stopBy ?? deadline) }
        wake()
    }

    /// Any thread: there is something to do that is not in here.
    func ring() { wake() }

    func beginTurn() { contents.withLock { $0.isInTurn = true } }

    /// - Returns: false if there is something to take first, and `force` is not set.
    func endTurn(force: Bool) -> Bool {
        contents.withLock {
            guard $0.settled.isEmpty || force else { return false }
            $0.isInTurn = false
            return true
        }
    }

    /// Exchanges what has arrived for an empty array whose memory is used again.
    /// - Returns: the deadline of a stop that was asked for.
    func take(into settled: inout [Settled]) -> Instant? {
        settled.removeAll(keepingCapacity: true)
        return contents.withLock {
            if !$0.settled.isEmpty { swap(&$0.settled, &settled) }
            return $0.stopBy
        }
    }
}
