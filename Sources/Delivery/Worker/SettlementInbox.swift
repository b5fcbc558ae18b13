import Platform
import Synchronization

/// Collects outcomes from any thread until the worker's next turn takes them. It holds at most one outcome for each
/// batch in flight, because a claim settles once.
final class SettlementInbox: Sendable {
    typealias Settled = (offer: Offer, settlement: DeliveryClaim.Settlement)

    struct Offer: Sendable {
        /// nil: an offer of live delivery.
        var backfill: Backfill.Kind?
        /// The batch's id in its window.
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

    /// Any thread. Wakes the worker unless a turn runs, because a turn checks the inbox before it ends.
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

    /// Any thread: wakes the worker for work that is not in the inbox.
    func ring() { wake() }

    func beginTurn() { contents.withLock { $0.isInTurn = true } }

    /// - Returns: false if the inbox must be taken first and `force` is false.
    func endTurn(force: Bool) -> Bool {
        contents.withLock {
            guard $0.settled.isEmpty || force else { return false }
            $0.isInTurn = false
            return true
        }
    }

    /// Swaps the outcomes that have arrived for an empty array, whose memory is reused.
    /// - Returns: the deadline of a requested stop.
    func take(into settled: inout [Settled]) -> Instant? {
        settled.removeAll(keepingCapacity: true)
        return contents.withLock {
            if !$0.settled.isEmpty { swap(&$0.settled, &settled) }
            return $0.stopBy
        }
    }
}
