import Synchronization

/// A flush of several providers at once. It ends when all providers have answered, or at the deadline, even if a
/// provider ignores the deadline.
final class Flush: Sendable {
    private struct State {
        /// The number of providers that have not answered yet.
        var waiting: Int
        var pending = 0
        var caller: (@Sendable (FlushOutcome) -> Void)?

        var outcome: FlushOutcome { waiting + pending == 0 ? .complete : .pending(events: pending + waiting) }

        mutating func takeCaller() -> (@Sendable (FlushOutcome) -> Void)? {
            defer { caller = nil }
            return caller
        }
    }

    /// The longest timeout. It is far below the point where clock arithmetic overflows.
    private static let longest: Duration = .seconds(365 * 86_400)
    /// A short extra time for providers that use all of theirs.
    private static let extraTime: Duration = .milliseconds(100)

    private let providers: [any AnalyticsProvider]
    private let deadline: ContinuousClock.Instant
    private let state: Mutex<State>

    init(of providers: [any AnalyticsProvider], timeout: Duration) {
        self.providers = providers
        deadline = ContinuousClock.now.advanced(by: timeout.held(in: .zero...Self.longest))
        state = Mutex(State(waiting: providers.count))
    }

    /// Runs the flush. Call it once.
    func outcome() async -> FlushOutcome {
        guard !providers.isEmpty else { return .complete }
        // Unstructured tasks: a task group would wait for a provider that ignores the deadline.
        let tasks = providers.map { provider in
            Task { self.answer(await provider.flush(until: deadline)) }
        }
        let limit = Task {
            guard (try? await Task.sleep(until: deadline.advanced(by: Self.extraTime), clock: .continuous)) != nil
            else { return }
            for task in tasks { task.cancel() }
            giveUp()
        }
        defer { limit.cancel() }
        return await withCheckedContinuation { caller in
            answer(to: { caller.resume(returning: $0) })
        }
    }

    /// Runs the flush, and blocks the calling thread. Call it once.
    func blockingOutcome() -> FlushOutcome {
        guard !providers.isEmpty else { return .complete }
        let deadline = deadline
        var tasks: [Task<Void, Never>] = []
        for provider in providers {
            if let provider = provider as? any BlockingFlush {
                let work = { @Sendable in self.answer(provider.flushBlocking(until: deadline)) }
                if providers.count == 1 || !ProviderThread.start(work) { work() }
            } else {
                tasks.append(Task.detached { self.answer(await provider.flush(until: deadline)) })
            }
        }
        let caller = BlockingAnswer<FlushOutcome>()
        answer(to: { caller.put($0) })
        let spoolingTime = tasks.count < providers.count ? ProcessExit.spoolingTime : .zero
        if let outcome = caller.wait(until: deadline.advanced(by: spoolingTime + Self.extraTime)) { return outcome }
        for task in tasks { task.cancel() }
        return state.withLock { $0.outcome }
    }

    /// Answers the caller when all providers have answered, which may be at once.
    private func answer(to caller: @escaping @Sendable (FlushOutcome) -> Void) {
        let outcome = state.withLock { state -> FlushOutcome? in
            if state.waiting == 0 { return state.outcome }
            state.caller = caller
            return nil
        }
        if let outcome { caller(outcome) }
    }

    private func answer(_ outcome: FlushOutcome) {
        let (caller, all) = state.withLock { state in
            state.waiting -= 1
            if case .pending(let events) = outcome { state.pending += events }
            return (state.waiting == 0 ? state.takeCaller() : nil, state.outcome)
        }
        caller?(all)
    }

    private func giveUp() {
        let (caller, all) = state.withLock { ($0.takeCaller(), $0.outcome) }
        caller?(all)
    }
}
