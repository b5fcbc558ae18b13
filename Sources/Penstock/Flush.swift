import Synchronization

/// A flush of several providers at once. It is over when all of them are, or at the deadline, whether they
/// obey it or not.
final class Flush: Sendable {
    fileprivate struct State {
        /// Providers that have not answered yet.
        var waiting: Int
        var pending = 0
        var caller: CheckedContinuation<FlushOutcome, Never>?
    }

    /// Longer than anybody waits, and far from where clocks overflow.
    private static let longest: Duration = .seconds(365 * 86_400)

    private let providers: [any AnalyticsProvider]
    private let state: Mutex<State>

    init(of providers: [any AnalyticsProvider]) {
        self.providers = providers
        state = Mutex(State(waiting: providers.count))
    }

    /// Once.
    func outcome(timeout: Duration) async -> FlushOutcome {
        guard !providers.isEmpty else { return .complete }
        let deadline = ContinuousClock.now.advanced(by: timeout.held(in: .zero ... Self.longest))
        // A provider that does not look at the deadline cannot be waited for as a child task: so these
        // are none.
        let tasks = providers.map { provider in
            Task { self.answer(await provider.flush(until: deadline)) }
        }
        let limit = Task {
            // A moment more, for those who use all of their time.
            guard (try? await Task.sleep(until: deadline.advanced(by: .milliseconds(100)), clock: .continuous)) != nil else { return }
            for task in tasks { task.cancel() }
            giveUp()
        }
        defer { limit.cancel() }
        return await withCheckedContinuation { caller in
            let outcome = state.withLock { state -> FlushOutcome? in
                if state.waiting == 0 { return state.outcome }
                state.caller = caller
                return nil
            }
            if let outcome { caller.resume(returning: outcome) }
        }
    }

    private func answer(_ outcome: FlushOutcome) {
        state.withLock { state -> CheckedContinuation<FlushOutcome, Never>? in
            state.waiting -= 1
            if case .pending(let events) = outcome { state.pending += events }
            return state.waiting == 0 ? state.takeCaller() : nil
        }?.resume(returning: state.withLock { $0.outcome })
    }

    private func giveUp() {
        state.withLock { $0.takeCaller() }?.resume(returning: state.withLock { $0.outcome })
    }
}

extension Flush.State {
    /// Whoever has not answered has an event at least.
    fileprivate var outcome: FlushOutcome { waiting + pending == 0 ? .complete : .pending(events: pending + waiting) }

    fileprivate mutating func takeCaller() -> CheckedContinuation<FlushOutcome, Never>? {
        defer { caller = nil }
        return caller
    }
}
