#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// Connects the threads that record with the worker thread that sends: the queue, its limits, the callers that wait for
/// a flush, and the statistics. One lock protects all of it. The lock is never held while a thread waits.
final class DaemonClient: ForkObserver, ExitObserver, @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A caller that waits until all events accepted before its call have left memory.
    struct Flush {
        /// The number of events accepted before the call.
        var target: Int
        var deadline: Instant
        /// Called once. In a child process, where nobody waits, it is never called.
        var answer: @Sendable (FlushOutcome) -> Void
    }

    private struct State {
        var queue = LineQueue()
        var statistics = DaemonProvider.Statistics()
        /// The size of the events in memory in bytes. Their number is `statistics.inMemory`.
        var bytes = 0
        /// The events dropped since the last report of some.
        var newDrops: Drops?
        var flushes: [Flush] = []
        var diagnostics = DiagnosticsHandler.silent
        /// The first diagnostics, kept until a handler is attached; nil afterwards.
        var unreported: [Diagnostic]? = []
        var hasWorker = false
        /// Whether the worker sleeps until it is woken.
        var isAsleep = false
        var isClosing = false
        /// Whether the worker must discard its events.
        var isPurging = false
        /// Whether the process is ending, and the handler for its end may have run already.
        var isExiting = false
        /// Descriptors of the worker that a child process must close: the connection, and both ends of the pipe that
        /// wakes the worker.
        var connection: Int32 = -1
        var pipe: (reading: Int32, writing: Int32) = (-1, -1)
    }

    private static let unreportedLimit = 8

    let options: DaemonProvider.Options
    private let lock = ForkableLock()
    private var state = State()

    init(_ options: DaemonProvider.Options) {
        self.options = options.held
        Forks.add(self)
        ProcessExit.shared.add(self)
        _ = lock.withLock { startWorker() }
    }

    // MARK: Threads that record

    func record(_ event: RecordedEvent) {
        let line = event.json
        lock.lock()
        let cost = line.count + 1
        guard state.statistics.inMemory < options.queueEvents, cost <= options.queueBytes - state.bytes,
            !state.isClosing, state.hasWorker || startWorker()
        else {
            state.statistics.dropped += 1
            Drops.add(event, to: &state.newDrops)
            wakeAndUnlock()
            return
        }
        state.queue.append(line, at: event.site)
        state.bytes += cost
        state.statistics.inMemory += 1
        state.statistics.accepted += 1
        let isExiting = state.isExiting
        wakeAndUnlock()
        if isExiting { ProcessExit.shared.register() }
    }

    private func wakeAndUnlock() {
        let sleeper = state.isAsleep ? state.pipe.writing : -1
        state.isAsleep = false
        lock.unlock()
        guard sleeper >= 0 else { return }
        var byte: UInt8 = 0
        // If the pipe is full, the worker has already been woken.
        _ = unsafe write(sleeper, &byte, 1)
    }

    func flush(until deadline: Instant) async -> FlushOutcome {
        await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<FlushOutcome, Never>) in
            lock.lock()
            beginFlushAndUnlock(until: deadline) { unsafe continuation.resume(returning: $0) }
        }
    }

    /// Call with the lock held.
    private func beginFlushAndUnlock(until deadline: Instant, answer: @escaping @Sendable (FlushOutcome) -> Void) {
        guard state.statistics.inMemory > 0, state.hasWorker else {
            lock.unlock()
            return answer(.complete)
        }
        state.flushes.append(Flush(target: state.statistics.accepted, deadline: deadline, answer: answer))
        wakeAndUnlock()
    }

    func flushBlocking(until deadline: Instant) -> FlushOutcome {
        // If the lock is never unlocked, the events in memory are out of reach.
        guard lock.lock(until: deadline + ProcessExit.extraTime) else { return .pending(events: 1) }
        let inMemory = state.statistics.inMemory
        let answer = BlockingAnswer<FlushOutcome>()
        beginFlushAndUnlock(until: deadline) { answer.put($0) }
        return answer.wait(until: deadline + ProcessExit.spoolingTime) ?? .pending(events: inMemory)
    }

    var exitTimeout: Duration { options.exitTimeout }

    func flushAtExit(until deadline: Instant) {
        // Events recorded from now on register the handler for the end again.
        if lock.lock(until: deadline + ProcessExit.extraTime) {
            state.isExiting = true
            lock.unlock()
        }
        guard case .pending(let events) = flushBlocking(until: deadline) else { return }
        let place = options.spool == nil ? "no spool is configured" : "the spool has no room or cannot be written"
        report(
            Diagnostic(
                .eventsDropped,
                "\(events) \(events == 1 ? "event was" : "events were") lost when the process ended: the daemon "
                    + "did not acknowledge them within exitTimeout (\(options.exitTimeout)), and \(place)",
                events: events))
    }

    var statistics: DaemonProvider.Statistics { lock.withLock { state.statistics } }

    func attach(to diagnostics: DiagnosticsHandler) {
        let missed = lock.withLock {
            state.diagnostics = diagnostics
            defer { state.unreported = nil }
            return state.unreported ?? []
        }
        for diagnostic in missed { diagnostics.report(diagnostic) }
    }

    /// Discards all events. The worker does it soon, also for events that are recorded just after this call.
    func purge() {
        lock.lock()
        state.isPurging = state.hasWorker
        wakeAndUnlock()
    }

    func close() {
        lock.lock()
        state.isClosing = true
        let hasWorker = state.hasWorker
        wakeAndUnlock()
        if !hasWorker { forget() }
    }

    /// Releases the client: no thread needs it any more.
    private func forget() {
        Forks.remove(self)
        ProcessExit.shared.remove(self)
    }

    /// Call with the lock held.
    @discardableResult
    private func startWorker() -> Bool {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return false }
        state.pipe = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let wake = ends[0]
        state.hasWorker = ProviderThread.start { [self] in DaemonWorker(self, wakenBy: wake).run() }
        if !state.hasWorker { closePipe() }
        return state.hasWorker
    }

    private func closePipe() {
        for end in [state.pipe.reading, state.pipe.writing] where end >= 0 { _ = systemClose(end) }
        state.pipe = (-1, -1)
    }

    // MARK: The worker thread

    /// The input of one turn of the worker.
    struct Turn {
        var blocks: [LineBlock]
        var isClosing: Bool
        var isPurging: Bool
        /// The earliest deadline of a waiting flush.
        var deadline: Instant?
    }

    func beginTurn() -> Turn {
        lock.withLock {
            defer { state.isPurging = false }
            return Turn(
                blocks: state.queue.takeAll(), isClosing: state.isClosing, isPurging: state.isPurging,
                deadline: state.flushes.map(\.deadline).min())
        }
    }

    /// Subtracts events that are no longer in memory only.
    func release(_ amount: DaemonSession.Amount, reusing blocks: [[UInt8]] = []) {
        lock.withLock {
            state.bytes -= amount.bytes
            state.statistics.inMemory -= amount.lines
            for block in blocks { state.queue.reuse(block) }
        }
        answerFlushes(now: nil)
    }

    /// Completes the flushes whose events have left memory.
    /// - Parameter now: If given, also completes the flushes whose deadline has passed.
    func answerFlushes(now: Instant?) {
        let (done, left) = lock.withLock { () -> ([Flush], Int) in
            let left = state.statistics.accepted - state.statistics.inMemory
            let isDone = { (flush: Flush) in flush.target <= left || now.map { flush.deadline <= $0 } ?? false }
            let done = state.flushes.filter(isDone)
            state.flushes.removeAll(where: isDone)
            return (done, left)
        }
        for flush in done {
            let missing = flush.target - left
            flush.answer(missing > 0 ? .pending(events: missing) : .complete)
        }
    }

    func note(_ change: (inout DaemonProvider.Statistics) -> Void) { lock.withLock { change(&state.statistics) } }

    /// - Returns: The events dropped since the last call.
    func newDrops() -> Drops? { lock.withLock { exchange(&state.newDrops, with: nil) } }

    func report(_ diagnostic: Diagnostic) {
        let handler = lock.withLock { () -> DiagnosticsHandler in
            if let unreported = state.unreported, unreported.count < Self.unreportedLimit {
                state.unreported = unreported + [diagnostic]
            }
            return state.diagnostics
        }
        handler.report(diagnostic)
    }

    /// - Returns: Whether the worker may sleep until it is woken; false if there is work to do.
    func fallAsleep() -> Bool {
        lock.withLock {
            state.isAsleep = state.queue.isEmpty && !state.isClosing && !state.isPurging
            return state.isAsleep
        }
    }

    func wakeUp() { lock.withLock { state.isAsleep = false } }

    /// Makes a connection that a child process closes after a fork.
    func makeConnection(_ make: () -> Int32) -> Int32 {
        lock.withLock {
            state.connection = make()
            return state.connection
        }
    }

    func closeConnection() {
        lock.withLock {
            if state.connection >= 0 { _ = systemClose(state.connection) }
            state.connection = -1
        }
    }

    /// Ends the worker.
    /// - Returns: False if the queue is not empty, so the worker must continue.
    func workerEnds() -> Bool {
        let ends = lock.withLock { () -> Bool in
            guard state.queue.isEmpty else { return false }
            state.hasWorker = false
            closePipe()
            return true
        }
        if ends { forget() }
        return ends
    }

    // MARK: fork(2)

    func prepareToFork() { lock.lock() }
    func forkedInParent() { lock.unlock() }

    func forkedInChild() {
        if state.connection >= 0 { _ = systemClose(state.connection) }
        closePipe()
        // The parent's events and waiting callers belong to the parent.
        var fresh = State()
        fresh.diagnostics = state.diagnostics
        fresh.unreported = state.unreported.map { _ in [] }
        fresh.isClosing = state.isClosing
        state = fresh
        lock.unlock()
    }
}

private func systemClose(_ number: Int32) -> Int32 { close(number) }
