#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The seam between the threads that record and the one that sends: the queue, its bounds, who waits for
/// a flush, and what there is to know. Everything under one lock that is never held while anything waits.
final class DaemonClient: ForkObserver, @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Somebody who waits until all that was accepted before has left memory. Resumed once; in a child
    /// process, where nobody waits, never.
    @safe struct Flush {
        /// The number of events accepted before.
        var target: Int
        var deadline: Instant
        var continuation: UnsafeContinuation<FlushOutcome, Never>
    }

    private struct State {
        var queue = LineQueue()
        var statistics = DaemonProvider.Statistics()
        /// In memory; the events are `statistics.inMemory`.
        var bytes = 0
        var dropsReported = 0
        var flushes: [Flush] = []
        var diagnostics = DiagnosticsHandler.silent
        /// What was reported before there was anybody to report to; the first ones.
        var unreported: [Diagnostic]? = []
        var hasWorker = false
        /// Whether the worker sleeps until it is woken.
        var isAsleep = false
        var isClosing = false
        /// The worker's own, for a child process to close: the connection, and the two ends of the pipe that wakes it.
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
        _ = lock.withLock { startWorker() }
    }

    // MARK: Those who record

    func record(_ line: [UInt8]) {
        lock.lock()
        let cost = line.count + 1
        guard state.statistics.inMemory < options.queueEvents, cost <= options.queueBytes - state.bytes,
            !state.isClosing, state.hasWorker || startWorker()
        else {
            state.statistics.dropped += 1
            wakeAndUnlock()
            return
        }
        state.queue.append(line)
        state.bytes += cost
        state.statistics.inMemory += 1
        state.statistics.accepted += 1
        wakeAndUnlock()
    }

    private func wakeAndUnlock() {
        let sleeper = state.isAsleep ? state.pipe.writing : -1
        state.isAsleep = false
        lock.unlock()
        guard sleeper >= 0 else { return }
        var byte: UInt8 = 0
        // If the pipe is full, the worker has been woken.
        _ = unsafe write(sleeper, &byte, 1)
    }

    func flush(until deadline: Instant) async -> FlushOutcome {
        await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<FlushOutcome, Never>) in
            lock.lock()
            guard state.statistics.inMemory > 0, state.hasWorker else {
                lock.unlock()
                return unsafe continuation.resume(returning: .complete)
            }
            unsafe state.flushes.append(Flush(target: state.statistics.accepted, deadline: deadline, continuation: continuation))
            wakeAndUnlock()
        }
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

    func close() {
        lock.lock()
        state.isClosing = true
        let hasWorker = state.hasWorker
        wakeAndUnlock()
        if !hasWorker { Forks.remove(self) }
    }

    /// With the lock held.
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

    // MARK: The worker

    /// What a turn of the worker begins with.
    struct Turn {
        var blocks: [LineBlock]
        var isClosing: Bool
        /// The next time at which somebody's patience ends.
        var deadline: Instant?
    }

    func beginTurn() -> Turn {
        lock.withLock {
            Turn(blocks: state.queue.takeAll(), isClosing: state.isClosing, deadline: state.flushes.map(\.deadline).min())
        }
    }

    /// Events are no longer in memory alone.
    func release(_ amount: DaemonSession.Amount, reusing blocks: [[UInt8]] = []) {
        lock.withLock {
            state.bytes -= amount.bytes
            state.statistics.inMemory -= amount.lines
            for block in blocks { state.queue.reuse(block) }
        }
        answerFlushes(now: nil)
    }

    /// - Parameter now: answers those whose deadline has passed, too.
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
            unsafe flush.continuation.resume(returning: missing > 0 ? .pending(events: missing) : .complete)
        }
    }

    func note(_ change: (inout DaemonProvider.Statistics) -> Void) { lock.withLock { change(&state.statistics) } }

    /// - Returns: how many events were dropped since it was last asked.
    func newDrops() -> Int {
        lock.withLock {
            defer { state.dropsReported = state.statistics.dropped }
            return state.statistics.dropped - state.dropsReported
        }
    }

    func report(_ diagnostic: Diagnostic) {
        let handler = lock.withLock { () -> DiagnosticsHandler in
            if let unreported = state.unreported, unreported.count < Self.unreportedLimit { state.unreported = unreported + [diagnostic] }
            return state.diagnostics
        }
        handler.report(diagnostic)
    }

    /// - Returns: whether the worker may sleep until it is woken: false if there is something to do.
    func fallAsleep() -> Bool {
        lock.withLock {
            state.isAsleep = state.queue.isEmpty && !state.isClosing
            return state.isAsleep
        }
    }

    func wakeUp() { lock.withLock { state.isAsleep = false } }

    /// Makes a descriptor that a child process will not keep.
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

    /// - Returns: false if there is more to do after all.
    func workerEnds() -> Bool {
        let ends = lock.withLock { () -> Bool in
            guard state.queue.isEmpty else { return false }
            state.hasWorker = false
            closePipe()
            return true
        }
        if ends { Forks.remove(self) }
        return ends
    }

    // MARK: fork(2)

    func prepareToFork() { lock.lock() }
    func forkedInParent() { lock.unlock() }

    func forkedInChild() {
        if state.connection >= 0 { _ = systemClose(state.connection) }
        closePipe()
        // The parent's events are the parent's, and so are those who wait for them.
        var fresh = State()
        fresh.diagnostics = state.diagnostics
        fresh.unreported = state.unreported.map { _ in [] }
        fresh.isClosing = state.isClosing
        state = fresh
        lock.unlock()
    }
}

private func systemClose(_ number: Int32) -> Int32 { close(number) }
