import Foundation
import Penstock

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Performs the decisions of `HTTPOutbox` in a thread that waits, sends a request and waits for the answer. One lock
/// protects the state that it shares with the threads that record.
final class HTTPClient: ExitObserver, @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Flush {
        var target: Int
        /// Called once.
        var answer: @Sendable (FlushOutcome) -> Void
    }

    /// The shortest interval between two reports of dropped events.
    private static let dropReports: Duration = .seconds(1)

    private let options: HTTPProvider.Options
    private let session: URLSession
    private let condition = NSCondition()
    private var outbox: HTTPOutbox
    private var numbers = HTTPProvider.Statistics()
    private var flushes: [Int: Flush] = [:]
    private var flushCount = 0
    private var diagnostics = DiagnosticsHandler.silent
    private var dropsReported = 0
    private var dropsReportedAt: Instant?
    private var hasThread = false
    private var isClosing = false
    /// Whether the process is ending, and the handler for its end may have run already.
    private var isExiting = false
    /// Whether the current outage has been reported.
    private var hasReportedOutage = false

    init(_ options: HTTPProvider.Options) {
        let options = options.held
        self.options = options
        outbox = HTTPOutbox(options)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = options.timeout / .seconds(1)
        session = URLSession(configuration: configuration)
        ProcessExit.shared.add(self)
    }

    // MARK: Threads that record

    func record(_ line: [UInt8]) {
        guard line.count <= options.eventBytes else {
            let handler = condition.withLock {
                numbers.dropped += 1
                dropsReported += 1
                return diagnostics
            }
            return handler.report(
                Diagnostic(
                    .eventsDropped,
                    "an event of \(line.count) bytes was dropped: eventBytes allows \(options.eventBytes) bytes"))
        }
        let isExiting = condition.withLock {
            let wasEmpty = outbox.count == 0
            guard startThread(), outbox.append(line, now: .now) else {
                numbers.dropped += 1
                return false
            }
            numbers.accepted += 1
            numbers.inMemory += 1
            if wasEmpty || outbox.count % options.batchEvents == 0 || outbox.bytes >= options.batchBytes {
                condition.signal()
            }
            return self.isExiting
        }
        if isExiting { ProcessExit.shared.register() }
    }

    /// Starts the thread when there is something to send. Call with the lock held.
    private func startThread() -> Bool {
        if !hasThread { hasThread = ProviderThread.start { [self] in run() } }
        return hasThread
    }

    func attach(to handler: DiagnosticsHandler) { condition.withLock { diagnostics = handler } }

    var statistics: HTTPProvider.Statistics { condition.withLock { numbers } }

    func flush(until deadline: Instant) async -> FlushOutcome {
        let number = newFlushNumber()
        let limit = Task {
            try? await Task.sleep(until: deadline, clock: .continuous)
            answerFlush(number)
        }
        defer { limit.cancel() }
        return await withCheckedContinuation { continuation in
            beginFlush(number, until: deadline) { continuation.resume(returning: $0) }
        }
    }

    func flushBlocking(until deadline: Instant) -> FlushOutcome {
        let number = newFlushNumber()
        let answer = BlockingAnswer<FlushOutcome>()
        beginFlush(number, until: deadline) { answer.put($0) }
        if let outcome = answer.wait(until: deadline) { return outcome }
        let target = condition.withLock { flushes.removeValue(forKey: number)?.target }
        return pending(numbersTarget: target)
    }

    private func newFlushNumber() -> Int {
        condition.withLock {
            flushCount += 1
            return flushCount
        }
    }

    private func beginFlush(_ number: Int, until deadline: Instant, answer: @escaping @Sendable (FlushOutcome) -> Void)
    {
        let isDone = condition.withLock {
            guard numbers.inMemory > 0, ContinuousClock.now < deadline else { return true }
            flushes[number] = Flush(target: numbers.accepted, answer: answer)
            condition.signal()
            return false
        }
        if isDone { answer(pending(numbersTarget: nil)) }
    }

    var exitTimeout: Duration { options.exitTimeout }

    func flushAtExit(until deadline: Instant) {
        condition.withLock { isExiting = true }
        guard case .pending(let events) = flushBlocking(until: deadline) else { return }
        condition.withLock { diagnostics }.report(
            Diagnostic(
                .eventsDropped,
                "\(events) \(events == 1 ? "event was" : "events were") lost when the process ended: "
                    + "\(options.service) did not take them within exitTimeout (\(options.exitTimeout)); "
                    + "raise it, or flush before the end",
                events: events))
    }

    /// Completes a flush whose deadline has passed.
    private func answerFlush(_ number: Int) {
        guard let flush = condition.withLock({ flushes.removeValue(forKey: number) }) else { return }
        flush.answer(pending(numbersTarget: flush.target))
    }

    private func pending(numbersTarget target: Int?) -> FlushOutcome {
        let missing = condition.withLock { (target ?? numbers.accepted) - (numbers.accepted - numbers.inMemory) }
        return missing > 0 ? .pending(events: missing) : .complete
    }

    func purge() {
        let done = condition.withLock { () -> [Flush] in
            let count = outbox.purge()
            numbers.purged += count
            numbers.inMemory -= count
            return takeDoneFlushes()
        }
        for flush in done { flush.answer(.complete) }
    }

    /// Takes the flushes whose events have left memory. Call with the lock held.
    private func takeDoneFlushes() -> [Flush] {
        let left = numbers.accepted - numbers.inMemory
        let done = flushes.filter { $0.value.target <= left }
        for number in done.keys { flushes[number] = nil }
        return Array(done.values)
    }

    func close() {
        let hasThread = condition.withLock {
            isClosing = true
            condition.signal()
            return self.hasThread
        }
        if !hasThread { ProcessExit.shared.remove(self) }
    }

    // MARK: The client's thread

    private func run() {
        var random = SystemRandomNumberGenerator()
        while let lines = waitForBatch() {
            let answer = post(HTTPBatch.body(lines, sentAt: Date()))
            settle(answer, lines: lines.count, using: &random)
        }
        ProcessExit.shared.remove(self)
        session.finishTasksAndInvalidate()
    }

    /// Waits until a batch is due.
    /// - Returns: The lines to send; nil when the client has ended.
    private func waitForBatch() -> ArraySlice<[UInt8]>? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            let now = Instant.now
            if let (drops, handler) = newDrops(now) {
                condition.unlock()
                let bounds = "queueEvents \(options.queueEvents), queueBytes \(options.queueBytes)"
                handler.report(
                    Diagnostic(
                        .eventsDropped,
                        "\(drops) \(drops == 1 ? "event was" : "events were") dropped: memory is full (\(bounds)); "
                            + "check that \(options.service) answers, or raise these limits",
                        events: drops))
                condition.lock()
            }
            switch outbox.next(now: now, isFlushing: isClosing || !flushes.isEmpty) {
            case .post(let count): return outbox.begin(lines: count)
            case .wait(let until):
                // On closing, lines that cannot be sent at once are given up.
                if isClosing { return nil }
                let until = [until, dropsReportedAt.map { $0 + Self.dropReports }].compactMap { $0 }.min()
                if let until {
                    _ = condition.wait(until: Date(timeIntervalSinceNow: now.duration(to: until) / .seconds(1)))
                } else {
                    condition.wait()
                }
            }
        }
    }

    /// Returns the number of events dropped since the last report, if a report is due, and the handler. Call with the
    /// lock held.
    private func newDrops(_ now: Instant) -> (Int, DiagnosticsHandler)? {
        if let last = dropsReportedAt, now < last + Self.dropReports { return nil }
        let drops = numbers.dropped - dropsReported
        dropsReportedAt = drops > 0 ? now : nil
        dropsReported = numbers.dropped
        return drops > 0 ? (drops, diagnostics) : nil
    }

    private func post(_ body: [UInt8]) -> HTTPOutbox.Answer {
        var request = URLRequest(url: options.service.appendingPathComponent("v1/batch"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("\(Library.name)/\(Library.version)", forHTTPHeaderField: "User-Agent")
        request.setValue(
            "Basic " + Data((options.writeKey + ":").utf8).base64EncodedString(), forHTTPHeaderField: "Authorization")
        request.httpBody = Data(body)
        let answers = HTTPAnswerBox()
        session.dataTask(with: request) { _, response, error in
            if let response = response as? HTTPURLResponse {
                let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) } ?? -1
                answers.put(
                    .status(
                        response.statusCode, retryAfter: (0...1_000_000).contains(seconds) ? .seconds(seconds) : nil))
            } else {
                answers.put(.failed(error?.localizedDescription ?? "no response"))
            }
        }.resume()
        return answers.take()
    }

    private func settle(_ answer: HTTPOutbox.Answer, lines: Int, using random: inout SystemRandomNumberGenerator) {
        var reports: [Diagnostic] = []
        var done: [Flush] = []
        let handler = condition.withLock {
            switch outbox.answered(answer, lines: lines, now: .now, using: &random) {
            case .delivered(let count):
                numbers.delivered += count
                numbers.inMemory -= count
                hasReportedOutage = false
            case .refused(let count):
                numbers.refused += count
                numbers.inMemory -= count
                reports.append(
                    Diagnostic(
                        .eventRefused,
                        "\(options.service) rejected a batch of \(count) \(count == 1 ? "event" : "events"): "
                            + "\(Self.text(answer)); check that the events are valid",
                        events: count))
            case .retry:
                if !hasReportedOutage {
                    reports.append(
                        Diagnostic(
                            .unreachable,
                            "\(options.service): \(Self.text(answer)); events stay in memory and are retried",
                            events: numbers.inMemory))
                }
                hasReportedOutage = true
            }
            done = takeDoneFlushes()
            return diagnostics
        }
        for report in reports { handler.report(report) }
        for flush in done { flush.answer(.complete) }
    }

    private static func text(_ answer: HTTPOutbox.Answer) -> String {
        switch answer {
        case .status(401, _): "HTTP 401: check the write key"
        case .status(let status, _): "HTTP \(status)"
        case .failed(let problem): problem
        }
    }
}

/// Passes one answer from URLSession's thread to the thread that waits for it.
private final class HTTPAnswerBox: @unchecked Sendable {
    private let condition = NSCondition()
    private var answer: HTTPOutbox.Answer?

    func put(_ answer: HTTPOutbox.Answer) {
        condition.withLock {
            self.answer = answer
            condition.signal()
        }
    }

    func take() -> HTTPOutbox.Answer {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let answer { return answer }
            condition.wait()
        }
    }
}
