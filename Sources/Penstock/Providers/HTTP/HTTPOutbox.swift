/// What an HTTP client sends next, and when: a pure state machine. One request at a time, so that events keep their
/// order; a batch stays at the front until it is answered for good.
struct HTTPOutbox {
    typealias Instant = ContinuousClock.Instant

    enum Action: Equatable {
        /// Send the first so many lines.
        case post(lines: Int)
        case wait(until: Instant?)
    }

    /// What came of a request.
    enum Answer: Equatable {
        /// - Parameter retryAfter: what the server asked for.
        case status(Int, retryAfter: Duration?)
        case failed(String)
    }

    /// What follows from an answer.
    enum Verdict: Equatable {
        case delivered(lines: Int)
        /// The request itself is wrong: sent again, it would be again.
        case refused(lines: Int)
        case retry
    }

    private let options: HTTPProvider.Options
    private var lines: [[UInt8]] = []
    private(set) var bytes = 0
    private var delay: RetryDelay
    private var isPosting = false
    private var retryAt: Instant?
    /// When the oldest event has waited long enough for others.
    private var dueAt: Instant?

    init(_ options: HTTPProvider.Options) {
        let options = options.held
        self.options = options
        delay = RetryDelay(options.retryDelay)
    }

    var count: Int { lines.count }

    /// - Returns: false: there is no room.
    mutating func append(_ line: [UInt8], now: Instant) -> Bool {
        guard lines.count < options.queueEvents, line.count <= options.queueBytes - bytes else { return false }
        if lines.isEmpty { dueAt = now + options.flushInterval }
        lines.append(line)
        bytes += line.count
        return true
    }

    /// - Parameter isFlushing: nothing is waited for but an earlier failure's delay.
    func next(now: Instant, isFlushing: Bool) -> Action {
        guard !isPosting, !lines.isEmpty else { return .wait(until: nil) }
        if let retryAt, now < retryAt { return .wait(until: retryAt) }
        let batch = batch
        if !isFlushing, batch == lines.count, batch < options.batchEvents, let dueAt, now < dueAt { return .wait(until: dueAt) }
        return .post(lines: batch)
    }

    /// How many lines fit into one request.
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

    mutating func begin(lines count: Int) -> ArraySlice<[UInt8]> {
        isPosting = true
        return lines.prefix(count)
    }

    mutating func answered(_ answer: Answer, lines count: Int, now: Instant, using random: inout some RandomNumberGenerator) -> Verdict {
        isPosting = false
        retryAt = nil
        switch answer {
        case .status(200..<300, _):
            delay.reset()
            remove(count, now: now)
            return .delivered(lines: count)
        case .status(400, _), .status(413, _), .status(422, _):
            remove(count, now: now)
            return .refused(lines: count)
        case .status(_, let asked):
            retryAt = now + min(max(delay.fail(using: &random), asked ?? .zero), options.retryDelay.upperBound)
        case .failed:
            retryAt = now + delay.fail(using: &random)
        }
        return .retry
    }

    private mutating func remove(_ count: Int, now: Instant) {
        bytes -= lines.prefix(count).reduce(0) { $0 + $1.count }
        lines.removeFirst(count)
        dueAt = lines.isEmpty ? nil : now + options.flushInterval
    }
}
