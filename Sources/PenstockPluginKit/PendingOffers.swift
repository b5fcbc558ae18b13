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
        /// Those that are under way included.
        var pending: [UInt64: (lane: String, receipt: Receipt)] = [:]
        /// The number of pending offers; a lane without one is not in here.
        var counts: [String: Int] = [:]
        /// Calls of the host's `offer` that have not returned.
        var underWay = 0
        /// Calls of `isDurable` that wait.
        var drains = 0
        /// The number of `ready` calls.
        var turns: UInt64 = 0
        var isStopped = false

        mutating func remove(_ token: UInt64) -> (lane: String, receipt: Receipt)? {
            guard let offer = pending.removeValue(forKey: token) else { return nil }
            let count = counts[offer.lane, default: 1] - 1
            counts[offer.lane] = count > 0 ? count : nil
            return offer
        }
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
        let deadline = clock.now + time
        while true {
            let (answer, turns) = try offerNow(events, lane, receipt)
            let left = deadline - clock.now
            guard case .busy = answer, left > .zero else { return answer }
            _ = state.wait(min(left, Self.patience)) { $0.turns != turns || $0.isStopped ? true : nil }
        }
    }

    /// - Returns: the answer; and the number of `ready` calls before the host was asked.
    private func offerNow(
        _ events: EventBuffer, _ lane: Lane, _ receipt: Receipt
    ) throws(SourceError) -> (Answer, turns: UInt64) {
        // The receipt is noted first, because `durable` may come before `offer` returns. The lock is not held
        // meanwhile: the threads of the other lanes would wait for the bytes of this one.
        let (token, turns) = state.withLock { state -> (token: UInt64?, turns: UInt64) in
            guard !state.isStopped else { return (nil, state.turns) }
            state.last += 1
            state.pending[state.last] = (lane.name, receipt)
            state.counts[lane.name, default: 0] += 1
            state.underWay += 1
            return (state.last, state.turns)
        }
        guard let token else { return (.stopped, turns) }
        var isTaken = false
        defer {
            let wakes = state.withLock { state in
                state.underWay -= 1
                if !isTaken { _ = state.remove(token) }
                return state.isStopped || !isTaken && state.drains > 0
            }
            if wakes { state.change { _ in } }
        }
        isTaken = try host.offer(events, lane: lane, token: token)
        return (isTaken ? .taken : .busy, turns)
    }

    /// The host takes offers again.
    public func ready() { state.change { $0.turns &+= 1 } }

    /// - Returns: the receipt of the offer; nil: it is unknown.
    public func durable(_ offer: DurableOffer) -> Receipt? {
        let (removed, wakes) = state.withLock { state in (state.remove(offer.token), state.drains > 0) }
        if wakes { state.change { _ in } }
        return removed?.receipt
    }

    /// The number of offers that are not durable yet, those that the host is asked to take at the moment included.
    /// - Parameter lane: nil: of all lanes.
    public func count(of lane: String? = nil) -> Int {
        state.withLock { state in lane.map { state.counts[$0] ?? 0 } ?? state.pending.count }
    }

    /// Waits until every offer of a lane is durable. The receipts have been returned by then, but perhaps not yet used.
    /// - Returns: false: the time has passed.
    public func isDurable(_ lane: String, within time: Duration) -> Bool {
        state.withLock { $0.drains += 1 }
        defer { state.withLock { $0.drains -= 1 } }
        return state.wait(time) { $0.counts[lane] == nil ? true : nil } ?? false
    }

    /// After it has returned, no offer is made. Threads that wait in `offer` return.
    public func stop() {
        state.change { $0.isStopped = true }
        // The host's `offer` does not wait for this thread.
        while state.wait(.seconds(60), for: { $0.underWay == 0 ? true : nil }) == nil {}
    }
}
