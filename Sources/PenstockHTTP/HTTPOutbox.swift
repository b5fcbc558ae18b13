import Penstock

/// Decides what an HTTP client sends next, and when: a pure state machine. Only one request is in flight, so events
/// keep their order.
///
/// Events are, oldest first: on disk, and in memory. Nothing is sent from memory while events on disk are unsent;
/// events in memory are then appended to the disk. While the service fails, all events go to the disk. A batch stays at
/// the front of its place until it is delivered or rejected. A batch that is rejected is sent again in halves, until
/// the event is found that the service rejects: a batch of 2,500 events in 13 requests.
struct HTTPOutbox {
    typealias Instant = ContinuousClock.Instant

    enum Action: Equatable {
        /// Append the oldest lines in memory to the disk.
        case spool
        /// Read at most this many lines from the disk, and send them.
        case postSpooled(lines: Int)
        /// Send this many lines from the front of memory.
        case post(lines: Int)
        case wait(until: Instant?)
    }

    /// The state of the disk.
    struct Disk {
        /// The number of bytes that are not sent.
        var unsent = 0
        var hasRoom = false
    }

    /// The result of a request.
    enum Answer: Equatable {
        /// - Parameter retryAfter: The delay that the server requested.
        case status(Int, retryAfter: Duration?)
        case failed(String)
    }

    /// Lines that leave the outbox.
    struct Settled: Equatable {
        var lines: Int
        /// How many of the lines were in memory only.
        var inMemory = 0
        /// The size of those on disk in bytes.
        var onDisk = 0
        /// How many of the lines were counted as purged while they were in flight.
        var purged = 0
    }

    /// The consequence of an answer.
    enum Verdict: Equatable {
        case delivered(Settled)
        /// The service rejects this event, so a retry would fail, too.
        case refused(Settled)
        /// The service rejects one of several events. A smaller batch follows.
        case split
        case retry
    }

    /// The place of the lines in the current request.
    private enum InFlight: Equatable {
        case memory(lines: Int)
        case disk(lines: Int, bytes: Int)
        /// They were purged. The service may still take them, but they are not sent again.
        /// - Parameter inMemory: How many of them were in memory only.
        case purged(lines: Int, inMemory: Int)

        var lines: Int {
            switch self {
            case .memory(let lines), .disk(let lines, _), .purged(let lines, _): lines
            }
        }

        var isPurged: Bool {
            if case .purged = self { true } else { false }
        }
    }

    /// The oldest lines in memory.
    struct Piece {
        var block: LineBlock
        /// Whether they are in flight.
        var wasSent: Bool
        /// The number of purges before.
        fileprivate var purges: Int
    }

    private struct Line {
        /// With a line feed.
        var bytes: [UInt8]
        var site: CallSite?
        var recordedAt: Instant
    }

    /// By how much requests shrink after a rejected event. They grow again to twice the size with each that succeeds.
    private static let caution = 16
    /// The size of a piece in bytes that is appended to the disk at once.
    private static let pieceBytes = 64 << 10

    private let options: HTTPProvider.Options
    private var lines: [Line] = []
    /// The size of the lines in memory, with their line feeds.
    private(set) var bytes = 0
    private var backoff: Backoff
    private var inFlight: InFlight?
    /// The size of the current request in bytes.
    private var size = 0
    private var purges = 0
    /// The most lines in a request: fewer than `batchEvents` after a rejected event, because more may follow.
    private var most: Int
    /// The most bytes of a request: fewer than `batchBytes` if a request was too large for the service.
    private(set) var mostBytes: Int
    /// So many lines at the front were rejected together.
    private var suspects = 0
    private var retryAt: Instant?
    /// The time at which the oldest event in memory must be sent even if the batch is not full.
    private var dueAt: Instant? { lines.first.map { $0.recordedAt + options.flushInterval } }

    init(_ options: HTTPProvider.Options) {
        let options = options.held
        self.options = options
        most = options.batchEvents
        mostBytes = options.batchBytes
        backoff = Backoff(options.retryDelay)
    }

    private var limit: Int { suspects == 0 ? most : max(1, min(most, suspects / 2)) }

    /// The number of lines in memory.
    var count: Int { lines.count }
    var isPosting: Bool { inFlight != nil }

    /// - Parameter line: Without a line feed.
    /// - Returns: False if memory is full.
    mutating func append(_ line: [UInt8], at site: CallSite? = nil, now: Instant) -> Bool {
        guard lines.count < options.queueEvents, line.count < options.queueBytes - bytes else { return false }
        lines.append(Line(bytes: line + [UInt8(ascii: "\n")], site: site, recordedAt: now))
        bytes += line.count + 1
        return true
    }

    /// Whether another line is a reason to decide anew before the oldest line is due.
    var isDue: Bool { count % options.batchEvents == 0 || bytes >= options.batchBytes || spills }

    /// Whether the service is slower than the application, so that events are spooled even though it answers.
    private var spills: Bool { lines.count > options.queueEvents / 4 || bytes > options.queueBytes / 4 }

    /// - Parameters:
    ///   - isFlushing: Whether to send at once. Only the delay after a failure is still observed.
    ///   - mustSpool: Whether to move all events from memory to the disk, whatever the state of the service.
    func next(now: Instant, isFlushing: Bool, disk: Disk = Disk(), mustSpool: Bool = false) -> Action {
        if !lines.isEmpty, disk.hasRoom, mustSpool || disk.unsent > 0 || retryAt != nil || spills { return .spool }
        if isPosting { return .wait(until: nil) }
        if let retryAt, now < retryAt { return .wait(until: retryAt) }
        if disk.unsent > 0 { return .postSpooled(lines: limit) }
        guard !lines.isEmpty else { return .wait(until: nil) }
        let batch = batch
        if !isFlushing, batch == lines.count, batch < limit, let dueAt, now < dueAt { return .wait(until: dueAt) }
        return .post(lines: batch)
    }

    /// The number of lines in the next request from memory.
    private var batch: Int {
        var size = HTTPBatch.overhead
        var count = 0
        for line in lines.prefix(limit) {
            size += line.bytes.count
            if size > mostBytes, count > 0 { break }
            count += 1
        }
        return count
    }

    // MARK: Requests

    /// Begins a request with lines from the front of memory.
    mutating func begin(lines count: Int) -> LineBlock {
        let block = block(count)
        inFlight = .memory(lines: count)
        size = block.bytes.count + HTTPBatch.overhead
        return block
    }

    /// Begins a request with lines from the disk.
    mutating func beginSpooled(lines: Int, bytes: Int) {
        inFlight = .disk(lines: lines, bytes: bytes)
        size = bytes + HTTPBatch.overhead
    }

    mutating func answered(
        _ answer: Answer, now: Instant, using random: inout some RandomNumberGenerator
    ) -> Verdict {
        guard let inFlight else { return .retry }
        self.inFlight = nil
        retryAt = nil
        switch answer {
        case .status(200..<300, _):
            backoff.reset()
            suspects = max(0, suspects - inFlight.lines)
            most = most < options.batchEvents / 2 ? most * 2 : options.batchEvents
            return .delivered(settle(inFlight))
        case .status(let status, _) where [400, 413, 422].contains(status):
            backoff.reset()
            suspects = 0
            if inFlight.lines > 1, !inFlight.isPurged {
                if status == 413 { mostBytes = max(1, size / 2) } else { suspects = inFlight.lines }
                return .split
            }
            // A service that rejects every event gets them one by one soon, and not each in a large batch first.
            most = max(1, most / Self.caution)
            return .refused(settle(inFlight))
        case .status(_, let asked):
            retryAt = now + min(max(backoff.fail(using: &random), asked ?? .zero), backoff.bounds.upperBound)
        case .failed:
            retryAt = now + backoff.fail(using: &random)
        }
        return .retry
    }

    /// The next request must wait, as after a failed one: the disk cannot be read at the moment.
    mutating func postpone(now: Instant, using random: inout some RandomNumberGenerator) {
        retryAt = now + backoff.fail(using: &random)
    }

    private mutating func settle(_ inFlight: InFlight) -> Settled {
        switch inFlight {
        case .memory(let count):
            removeFirst(count)
            return Settled(lines: count, inMemory: count)
        case .disk(let lines, let bytes): return Settled(lines: lines, onDisk: bytes)
        case .purged(let lines, let inMemory): return Settled(lines: lines, purged: inMemory)
        }
    }

    // MARK: The disk

    /// The next lines to append to the disk. Memory must not be empty.
    var oldest: Piece {
        if case .memory(let count) = inFlight { return Piece(block: block(count), wasSent: true, purges: purges) }
        var size = 0
        let count = lines.prefix { line in
            size += line.bytes.count
            return size <= Self.pieceBytes
        }.count
        return Piece(block: block(min(max(1, count), lines.count)), wasSent: false, purges: purges)
    }

    /// The lines returned by `oldest` are on disk now.
    /// - Returns: How many lines left memory: none if they were purged meanwhile.
    mutating func spooled(_ piece: Piece) -> Int {
        guard piece.purges == purges else { return 0 }
        let (lines, bytes) = (piece.block.lines, piece.block.bytes.count)
        if piece.wasSent { inFlight = .disk(lines: lines, bytes: bytes) }
        removeFirst(lines)
        return lines
    }

    // MARK: Lines in memory

    /// Discards all lines in memory. If the current request fails, its lines are not sent again.
    /// - Returns: How many they were.
    mutating func purge() -> Int {
        if case .memory(let count) = inFlight { inFlight = .purged(lines: count, inMemory: count) }
        defer {
            lines = []
            bytes = 0
            suspects = 0
            purges += 1
        }
        return lines.count
    }

    /// All lines on disk were discarded.
    mutating func purgedDisk() {
        if case .disk(let lines, _) = inFlight { inFlight = .purged(lines: lines, inMemory: 0) }
    }

    private func block(_ count: Int) -> LineBlock {
        var block = LineBlock(bytes: [], lines: count)
        block.bytes.reserveCapacity(lines.prefix(count).reduce(0) { $0 + $1.bytes.count })
        for line in lines.prefix(count) {
            block.bytes += line.bytes
            block.sites.append(line.site)
        }
        return block
    }

    private mutating func removeFirst(_ count: Int) {
        bytes -= lines.prefix(count).reduce(0) { $0 + $1.bytes.count }
        lines.removeFirst(count)
    }
}
