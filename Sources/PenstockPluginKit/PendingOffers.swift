/// Makes a source's offers, and keeps a receipt of each until it is durable. Several threads may offer, each to lanes
/// of its own. Pass on `ready`, `durable` and `stop` of the source.
///
/// A receipt is what the source needs to acknowledge an offer to its broker.
public final class PendingOffers<Receipt: Sendable>: Sendable {
    public enum Answer: Sendable {
        /// `durable` will return the receipt.
        case taken
        /// The host had no room within the time.
        case busy
        /// `stop` was called: nothing may be offered any more.
        case stopped
    }

    private struct State {
        var last: UInt64 = 0
        var pending: [UInt64: (lane: String, receipt: Receipt)] = [:]
        /// The number of pending offers; a lane without one is not in here.
        var counts: [String: Int] = [:]
        /// The number of `ready` calls.
        var turns: UInt64 = 0
        var isStopped = false
    }

    /// A call of `ready` that got lost delays an offer by this.
    private static var patience: Duration { .seconds(1) }

    private let host: SourceHost
    private let state = Monitor(State())

    public init(_ host: SourceHost) { self.host = host }

    /// Offers events of one lane, and waits while the host is busy.
    /// - Parameter time: the longest wait; zero: does not wait.
    /// - Throws: the offer is not valid, and never will be.
    public func offer(
        _ events: EventBuffer, lane: Lane, receipt: Receipt, waiting time: Duration = .zero
    ) throws(SourceError) -> Answer {
        let clock = ContinuousClock()
        let end = clock.now + time
        while true {
            // The lock is held while the host copies: `durable` cannot come before the receipt is noted, and after
            // `stop` no offer is under way. The host does not call back from `offer`.
            let (answer, turns) = try state.withLock { state throws(SourceError) -> (Answer, UInt64) in
                if state.isStopped { return (.stopped, state.turns) }
                let token = state.last + 1
                guard try host.offer(events, lane: lane, token: token) else { return (.busy, state.turns) }
                state.last = token
                state.pending[token] = (lane.name, receipt)
                state.counts[lane.name, default: 0] += 1
                return (.taken, state.turns)
            }
            let left = end - clock.now
            guard case .busy = answer, left > .zero else { return answer }
            _ = state.wait(min(left, Self.patience)) { $0.turns != turns || $0.isStopped ? true : nil }
        }
    }

    /// The host takes offers again.
    public func ready() { state.withLock { $0.turns &+= 1 } }

    /// - Returns: the receipt of the offer; nil: it is unknown.
    public func durable(_ offer: DurableOffer) -> Receipt? {
        state.withLock { state in
            guard let (lane, receipt) = state.pending.removeValue(forKey: offer.token) else { return nil }
            let count = state.counts[lane, default: 1] - 1
            state.counts[lane] = count > 0 ? count : nil
            return receipt
        }
    }

    /// The number of offers that are not durable yet.
    /// - Parameter lane: nil: of all lanes.
    public func count(of lane: String? = nil) -> Int {
        state.withLock { state in lane.map { state.counts[$0] ?? 0 } ?? state.pending.count }
    }

    /// Waits until every offer of a lane is durable. The receipts have been returned by then, but perhaps not yet used.
    /// - Returns: false: the time has passed.
    public func isDurable(_ lane: String, within time: Duration) -> Bool {
        state.wait(time) { $0.counts[lane] == nil ? true : nil } ?? false
    }

    /// After it has returned, no offer is made. Threads that wait in `offer` return.
    public func stop() { state.withLock { $0.isStopped = true } }
}
