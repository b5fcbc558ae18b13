import Synchronization

/// A flush of several providers at once. It ends when all providers have answered, or at the deadline, even if a
/// provider ignores the deadline.
final class Flush: Sendable {
    fileprivate struct State {
        /// The number of providers that have not answered yet.
        var waiting: Int
        var pending = 0
        var caller: CheckedContinuation<FlushOutcome, Never>?
    }

    /// The longest timeout. It is far below the point where clock arithmetic overflows.
    private static let longest: Duration = .seconds(365 * 86_400)

    private let providers: [any AnalyticsProvider]
    private let state: Mutex<State>

    init(of providers: [any AnalyticsProvider]) {
        self.providers = providers
        state = Mutex(State(waiting: providers.count))
    }

    /// Runs the flush. Call it once.
    func outcome(timeout: Duration) async -> FlushOutcome {
        guard !providers.isEmpty else { return .complete }
        let deadline = ContinuousClock.now.advanced(by: timeout.held(in: .zero...Self.longest))
        // Unstructured tasks: a task group would wait for a provider that ignores the deadline.
        let tasks = providers.map { provider in
            Task { self.answer(await provider.flush(until: deadline)) }
        }
        let limit = Task {
            // A short extra time for providers that use all of theirs.
            guard (try? await Task.sleep(until: deadline.advanced(by: .milliseconds(100)), clock: .continuous)) != nil
            else { return }
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
    /// A provider that has not answered counts as one pending event.
    fileprivate var outcome: FlushOutcome { waiting + pending == 0 ? .complete : .pending(events: pending + waiting) }

    fileprivate mutating func takeCaller() -> CheckedContinuation<FlushOutcome, Never>? {
        defer { caller = nil }
        return caller
    }
}
