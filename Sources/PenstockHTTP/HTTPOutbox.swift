import Penstock

/// Decides what an HTTP client sends next, and when: a pure state machine. Only one request is in flight, so events
/// keep their order. A batch stays at the front until it is delivered or rejected.
struct HTTPOutbox {
    typealias Instant = ContinuousClock.Instant

    enum Action: Equatable {
        /// Send this many lines from the front.
        case post(lines: Int)
        case wait(until: Instant?)
    }

    /// The result of a request.
    enum Answer: Equatable {
        /// - Parameter retryAfter: The delay that the server requested.
        case status(Int, retryAfter: Duration?)
        case failed(String)
    }

    /// The consequence of an answer.
    enum Verdict: Equatable {
        case delivered(lines: Int)
        /// The request itself is invalid, so a retry would fail, too.
        case refused(lines: Int)
        case retry
    }

    private let options: HTTPProvider.Options
    private var lines: [[UInt8]] = []
    private(set) var bytes = 0
    private var backoff: Backoff
    private var isPosting = false
    /// The number of lines in the request that is being sent.
    private var posting = 0
    private var retryAt: Instant?
    /// The time at which the oldest event must be sent even if the batch is not full.
    private var dueAt: Instant?

    init(_ options: HTTPProvider.Options) {
        let options = options.held
        self.options = options
        backoff = Backoff(options.retryDelay)
    }

    var count: Int { lines.count }

    /// - Returns: False if the queue is full.
    mutating func append(_ line: [UInt8], now: Instant) -> Bool {
        guard lines.count < options.queueEvents, line.count <= options.queueBytes - bytes else { return false }
        if lines.isEmpty { dueAt = now + options.flushInterval }
        lines.append(line)
        bytes += line.count
        return true
    }

    /// - Parameter isFlushing: Whether to send at once. Only the delay after a failure is still observed.
    func next(now: Instant, isFlushing: Bool) -> Action {
        guard !isPosting, !lines.isEmpty else { return .wait(until: nil) }
        if let retryAt, now < retryAt { return .wait(until: retryAt) }
        let batch = batch
        if !isFlushing, batch == lines.count, batch < options.batchEvents, let dueAt, now < dueAt {
            return .wait(until: dueAt)
        }
        return .post(lines: batch)
    }

    /// The number of lines in the next request.
    private var batch: Int {
        var size = HTTPBatch.overhead
        var count = 0
        for line in lines.prefix(options.batchEvents) {
            size += line.count + 1
            if size > options.batchBytes, count > 0 { break }
            count += 1
        }
        return count
    }

    /// Discards all lines that are not being sent.
    /// - Returns: How many they were.
    mutating func purge() -> Int {
        let count = lines.count - posting
        bytes -= lines[posting...].reduce(0) { $0 + $1.count }
        lines.removeSubrange(posting...)
        return count
    }

    mutating func begin(lines count: Int) -> ArraySlice<[UInt8]> {
        isPosting = true
        posting = count
        return lines.prefix(count)
    }

    mutating func answered(
        _ answer: Answer, lines count: Int, now: Instant, using random: inout some RandomNumberGenerator
    ) -> Verdict {
        isPosting = false
        posting = 0
        retryAt = nil
        switch answer {
        case .status(200..<300, _):
            backoff.reset()
            remove(count, now: now)
            return .delivered(lines: count)
        case .status(400, _), .status(413, _), .status(422, _):
            remove(count, now: now)
            return .refused(lines: count)
        case .status(_, let asked):
            retryAt = now + min(max(backoff.fail(using: &random), asked ?? .zero), backoff.bounds.upperBound)
        case .failed:
            retryAt = now + backoff.fail(using: &random)
        }
        return .retry
    }

    private mutating func remove(_ count: Int, now: Instant) {
        bytes -= lines.prefix(count).reduce(0) { $0 + $1.count }
        lines.removeFirst(count)
        dueAt = lines.isEmpty ? nil : now + options.flushInterval
    }
}
