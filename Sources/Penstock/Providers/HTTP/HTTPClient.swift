import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Performs what `HTTPOutbox` decides: a thread that waits, sends and waits for the answer; everything that it shares with those who
/// record is under one lock.
final class HTTPClient: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Flush {
        var target: Int
        var continuation: CheckedContinuation<FlushOutcome, Never>
    }

    /// How often at most it is said that events were dropped.
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
    /// Whether it has been said that the service cannot be reached.
    private var hasReportedOutage = false

    init(_ options: HTTPProvider.Options) {
        let options = options.held
        self.options = options
        outbox = HTTPOutbox(options)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = options.timeout / .seconds(1)
        session = URLSession(configuration: configuration)
    }

    // MARK: Those who record

    func record(_ line: [UInt8]) {
        guard line.count <= options.eventBytes else {
            let handler = condition.withLock {
                numbers.dropped += 1
                dropsReported += 1
                return diagnostics
            }
            return handler.report(
                Diagnostic(.eventsDropped, "an event of \(line.count) bytes was dropped: the service takes \(options.eventBytes) (eventBytes)"))
        }
        condition.withLock {
            let wasEmpty = outbox.count == 0
            guard startThread(), outbox.append(line, now: .now) else {
                numbers.dropped += 1
                return
            }
            numbers.accepted += 1
            numbers.inMemory += 1
            if wasEmpty || outbox.count % options.batchEvents == 0 || outbox.bytes >= options.batchBytes { condition.signal() }
        }
    }

    /// With the lock held. Once there is something to send.
    private func startThread() -> Bool {
        if !hasThread { hasThread = ProviderThread.start { [self] in run() } }
        return hasThread
    }

    func attach(to handler: DiagnosticsHandler) { condition.withLock { diagnostics = handler } }

    var statistics: HTTPProvider.Statistics { condition.withLock { numbers } }

    func flush(until deadline: Instant) async -> FlushOutcome {
        let number = condition.withLock {
            flushCount += 1
            return flushCount
        }
        let limit = Task {
            try? await Task.sleep(until: deadline, clock: .continuous)
            answerFlush(number)
        }
        defer { limit.cancel() }
        return await withCheckedContinuation { continuation in
            let isDone = condition.withLock {
                guard numbers.inMemory > 0, ContinuousClock.now < deadline else { return true }
                flushes[number] = Flush(target: numbers.accepted, continuation: continuation)
                condition.signal()
                return false
            }
            if isDone { continuation.resume(returning: pending(numbersTarget: nil)) }
        }
    }

    /// Its time is over.
    private func answerFlush(_ number: Int) {
        guard let flush = condition.withLock({ flushes.removeValue(forKey: number) }) else { return }
        flush.continuation.resume(returning: pending(numbersTarget: flush.target))
    }

    private func pending(numbersTarget target: Int?) -> FlushOutcome {
        let missing = condition.withLock { (target ?? numbers.accepted) - (numbers.accepted - numbers.inMemory) }
        return missing > 0 ? .pending(events: missing) : .complete
    }

    func close() {
        condition.withLock {
            isClosing = true
            condition.signal()
        }
    }

    // MARK: The thread

    private func run() {
        var random = SystemRandomNumberGenerator()
        while let lines = waitForBatch() {
            let answer = post(HTTPBatch.body(lines, sentAt: Date()))
            settle(answer, lines: lines.count, using: &random)
        }
        session.finishTasksAndInvalidate()
    }

    /// - Returns: what is to be sent; nil at the end.
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
                        "\(drops) events were dropped: memory is full (\(bounds)); see that \(options.service) answers, or raise them",
                        events: drops))
                condition.lock()
            }
            switch outbox.next(now: now, isFlushing: isClosing || !flushes.isEmpty) {
            case .post(let count): return outbox.begin(lines: count)
            case .wait(let until):
                // What cannot be sent at once is not waited for.
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

    /// With the lock held.
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
        request.setValue("Basic " + Data((options.writeKey + ":").utf8).base64EncodedString(), forHTTPHeaderField: "Authorization")
        request.httpBody = Data(body)
        let answers = HTTPAnswerBox()
        session.dataTask(with: request) { _, response, error in
            if let response = response as? HTTPURLResponse {
                let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) } ?? -1
                answers.put(.status(response.statusCode, retryAfter: (0...1_000_000).contains(seconds) ? .seconds(seconds) : nil))
            } else {
                answers.put(.failed(error?.localizedDescription ?? "no answer"))
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
                        "\(options.service) refused a batch of \(count) events: \(Self.text(answer)); see that they are valid",
                        events: count))
            case .retry:
                if !hasReportedOutage {
                    reports.append(
                        Diagnostic(
                            .unreachable, "\(options.service): \(Self.text(answer)); events are kept in memory and sent again",
                            events: numbers.inMemory))
                }
                hasReportedOutage = true
            }
            let left = numbers.accepted - numbers.inMemory
            for (number, flush) in flushes where flush.target <= left {
                done.append(flush)
                flushes[number] = nil
            }
            return diagnostics
        }
        for report in reports { handler.report(report) }
        for flush in done { flush.continuation.resume(returning: .complete) }
    }

    private static func text(_ answer: HTTPOutbox.Answer) -> String {
        switch answer {
        case .status(401, _): "HTTP 401: check the write key"
        case .status(let status, _): "HTTP \(status)"
        case .failed(let problem): problem
        }
    }
}

/// Hands one answer from URLSession's thread to the one that waits for it.
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
