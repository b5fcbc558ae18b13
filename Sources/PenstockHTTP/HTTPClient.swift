import Foundation
import Penstock

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Connects the threads that record with the worker thread that sends: the outbox, the callers that wait for a flush,
/// and the statistics. One lock protects all of it.
final class HTTPClient: ExitObserver, @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A caller that waits until all events accepted before its call have left memory.
    private struct Flush {
        /// The number of events accepted before the call.
        var target: Int
        var deadline: Instant
        /// Called once.
        var answer: @Sendable (FlushOutcome) -> Void
    }

    let options: HTTPProvider.Options
    let session: URLSession
    private let condition = NSCondition()
    private var outbox: HTTPOutbox
    private var numbers = HTTPProvider.Statistics()
    private var flushes: [Flush] = []
    private var diagnostics = DiagnosticsHandler.silent
    /// The events dropped since the last report of some.
    private var drops: Drops?
    /// The answer to the current request.
    private var answer: HTTPOutbox.Answer?
    private var hasWorker = false
    private var isClosing = false
    /// Whether the worker must discard the events on disk.
    private var isPurging = false
    /// Whether the process is ending, and the handler for its end may have run already.
    private var isExiting = false
    /// Whether something has happened since the worker began its turn.
    private var isWoken = false

    init(_ options: HTTPProvider.Options) {
        let options = options.held
        self.options = options
        outbox = HTTPOutbox(options)
        session = HTTPSession.make(timeout: options.timeout)
        ProcessExit.shared.add(self)
        // Earlier processes may have left events.
        if let directory = options.spoolOfService, ProviderSpool.exists(directory) {
            condition.withLock { _ = startWorker() }
        }
    }

    /// A request that is under way holds the session, and ends by itself, after its timeout at the latest. Foundation
    /// on Linux cannot cancel it safely: if it ends at the same moment, the process crashes (swift-corelibs-foundation
    /// issue 3296).
    deinit { session.finishTasksAndInvalidate() }

    // MARK: Threads that record

    func record(_ event: RecordedEvent) {
        let line = event.json
        guard line.count <= options.eventBytes else {
            let handler = condition.withLock {
                numbers.dropped += 1
                return diagnostics
            }
            return handler.report(
                Diagnostic(
                    .eventsDropped, about: event,
                    "was dropped: it has \(line.count) bytes; eventBytes allows \(options.eventBytes) bytes"))
        }
        let isExiting = condition.withLock {
            let wasEmpty = outbox.count == 0
            guard startWorker(), outbox.append(line, at: event.site, now: .now) else {
                numbers.dropped += 1
                Drops.add(event, to: &drops)
                wake()
                return false
            }
            numbers.accepted += 1
            numbers.inMemory += 1
            if wasEmpty || outbox.isDue { wake() }
            return self.isExiting
        }
        if isExiting { ProcessExit.shared.register() }
    }

    /// Starts the worker when there is something to do. Call with the lock held.
    private func startWorker() -> Bool {
        if !hasWorker { hasWorker = ProviderThread.start { [self] in HTTPWorker(self).run() } }
        return hasWorker
    }

    /// Call with the lock held.
    private func wake() {
        isWoken = true
        condition.signal()
    }

    func attach(to handler: DiagnosticsHandler) { condition.withLock { diagnostics = handler } }

    var statistics: HTTPProvider.Statistics { condition.withLock { numbers } }

    func flush(until deadline: Instant) async -> FlushOutcome {
        await withCheckedContinuation { continuation in
            beginFlush(until: deadline) { continuation.resume(returning: $0) }
        }
    }

    func flushBlocking(until deadline: Instant) -> FlushOutcome {
        let answer = BlockingAnswer<FlushOutcome>()
        beginFlush(until: deadline) { answer.put($0) }
        return answer.wait(until: deadline + ProcessExit.spoolingTime)
            ?? .pending(events: max(1, condition.withLock { numbers.inMemory }))
    }

    private func beginFlush(until deadline: Instant, answer: @escaping @Sendable (FlushOutcome) -> Void) {
        let isDone = condition.withLock {
            guard numbers.inMemory > 0 else { return true }
            flushes.append(Flush(target: numbers.accepted, deadline: deadline, answer: answer))
            wake()
            return false
        }
        if isDone { answer(.complete) }
    }

    var exitTimeout: Duration { options.exitTimeout }

    func flushAtExit(until deadline: Instant) {
        condition.withLock { isExiting = true }
        guard case .pending(let events) = flushBlocking(until: deadline) else { return }
        let place = options.spool == nil ? "no spool is configured" : "the spool has no room or cannot be written"
        report(
            Diagnostic(
                .eventsDropped,
                "\(events) \(events == 1 ? "event was" : "events were") lost when the process ended: "
                    + "\(options.service) did not take them within exitTimeout (\(options.exitTimeout)), and \(place)",
                events: events))
    }

    func purge() {
        condition.withLock {
            let count = outbox.purge()
            numbers.purged += count
            numbers.inMemory -= count
            if let directory = options.spoolOfService, hasWorker || ProviderSpool.exists(directory) {
                isPurging = startWorker()
            }
            wake()
        }
        answerFlushes(now: nil)
    }

    func close() {
        let hasWorker = condition.withLock {
            isClosing = true
            wake()
            return self.hasWorker
        }
        if !hasWorker { ProcessExit.shared.remove(self) }
    }

    // MARK: The worker

    /// The input of one turn of the worker.
    struct Turn {
        var answer: HTTPOutbox.Answer?
        var isClosing: Bool
        var isPurging: Bool
        /// The earliest deadline of a waiting flush.
        var deadline: Instant?
    }

    func beginTurn() -> Turn {
        condition.withLock {
            defer {
                isWoken = false
                isPurging = false
                answer = nil
            }
            return Turn(
                answer: answer, isClosing: isClosing, isPurging: isPurging, deadline: flushes.map(\.deadline).min())
        }
    }

    /// Waits until something has happened since the turn began, or until the given time.
    func wait(until: Instant) {
        condition.withLock {
            guard !isWoken else { return }
            _ = condition.wait(until: Date(timeIntervalSinceNow: Instant.now.duration(to: until) / .seconds(1)))
        }
    }

    /// Runs a decision with the lock held.
    func decide<Result>(_ body: (inout HTTPOutbox, inout HTTPProvider.Statistics) -> Result) -> Result {
        condition.withLock { body(&outbox, &numbers) }
    }

    /// What the worker does next, with what it needs for it.
    enum Step {
        /// Lines in memory, whose request has begun.
        case post(LineBlock)
        case postSpooled(lines: Int, bytes: Int)
        case spool(HTTPOutbox.Piece)
        case wait(until: Instant?)
    }

    /// Decides what to do next. A purge at any time afterwards finds that it has begun.
    /// - Returns: nil: events on disk must be purged first, before anything is added to them.
    func next(now: Instant, disk: HTTPOutbox.Disk, mustSpool: Bool) -> Step? {
        condition.withLock {
            if isPurging { return nil }
            let isFlushing = isClosing || !flushes.isEmpty
            switch outbox.next(now: now, isFlushing: isFlushing, disk: disk, mustSpool: mustSpool) {
            case .spool: return .spool(outbox.oldest)
            case .post(let count): return .post(outbox.begin(lines: count))
            case .postSpooled(let count): return .postSpooled(lines: count, bytes: outbox.mostBytes)
            case .wait(let until): return .wait(until: until)
            }
        }
    }

    /// Receives the answer to a request, on any thread.
    func take(_ answer: HTTPOutbox.Answer) {
        condition.withLock {
            self.answer = answer
            wake()
        }
    }

    /// Completes the flushes whose events have left memory.
    /// - Parameter now: If given, also completes the flushes whose deadline has passed.
    func answerFlushes(now: Instant?) {
        let (done, left) = condition.withLock { () -> ([Flush], Int) in
            let left = numbers.accepted - numbers.inMemory
            let isDone = { (flush: Flush) in flush.target <= left || now.map { flush.deadline <= $0 } ?? false }
            defer { flushes.removeAll(where: isDone) }
            return (flushes.filter(isDone), left)
        }
        for flush in done {
            let missing = flush.target - left
            flush.answer(missing > 0 ? .pending(events: missing) : .complete)
        }
    }

    /// - Returns: The events dropped since the last call.
    func newDrops() -> Drops? { condition.withLock { exchange(&drops, with: nil) } }

    func report(_ diagnostic: Diagnostic) { condition.withLock { diagnostics }.report(diagnostic) }

    /// The worker ends. The client is not needed any more.
    /// - Returns: The number of events that are lost.
    func workerEnds() -> Int {
        let (lost, waiting) = condition.withLock {
            numbers.dropped += outbox.count
            numbers.inMemory -= outbox.count
            defer { flushes = [] }
            return (outbox.count, flushes)
        }
        for flush in waiting { flush.answer(lost > 0 ? .pending(events: lost) : .complete) }
        ProcessExit.shared.remove(self)
        return lost
    }
}
