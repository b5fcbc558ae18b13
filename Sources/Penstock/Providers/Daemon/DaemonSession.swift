/// Decides what a client of the daemon does next: a pure state machine. `DaemonWorker` performs the decisions.
///
/// Events are sent in the order in which they were recorded. They are, oldest first: in the window (sent and not
/// acknowledged), on disk, and in memory (`pending`). Two rules keep this order:
///
/// - In the window, events on disk come before events that are in memory only.
/// - Nothing is sent from memory while events on disk are unsent. Events in memory are then appended to the disk.
///
/// A lost connection therefore costs only time: the window's events in memory return to the front of `pending`, the
/// disk is read again from its last acknowledged byte, and the state is as if nothing unacknowledged had been sent.
struct DaemonSession {
    typealias Instant = ContinuousClock.Instant

    enum Link: Equatable {
        case down(until: Instant)
        case up
    }

    enum Action: Equatable {
        case connect
        /// Append the oldest events in memory to the disk.
        case spool
        /// Continue sending the current batch.
        case resume
        /// Read the next lines from the disk and send them.
        case sendSpooled
        /// Send this block.
        case send(LineBlock)
        /// Wait until something happens, at most until this time.
        case wait(until: Instant?)
    }

    /// The state of the disk.
    struct Disk {
        var unsent: Int
        var hasRoom: Bool
    }

    /// Lines that were sent together.
    private struct Batch {
        var lines: Int
        /// How many of the lines are acknowledged.
        var acknowledged = 0
        var bytes: Int
        /// The lines in memory; nil if they are on disk.
        var block: LineBlock?
    }

    /// The result of an acknowledgement.
    struct Settled: Equatable {
        /// The acknowledged lines that were in memory only.
        var memory = Amount()
        /// The acknowledged bytes at the front of the disk.
        var spooled = 0
        var lines = 0
        /// Buffers that can be reused.
        var blocks: [[UInt8]] = []
    }

    struct Amount: Equatable {
        var lines = 0
        var bytes = 0

        static func += (a: inout Amount, b: Amount) { a = Amount(lines: a.lines + b.lines, bytes: a.bytes + b.bytes) }
        static func -= (a: inout Amount, b: Amount) { a = Amount(lines: a.lines - b.lines, bytes: a.bytes - b.bytes) }
    }

    /// The daemon violated the protocol.
    struct ProtocolViolation: Error {}

    /// The maximum number of unacknowledged batches. Their size is bounded by the limits of the queue and the disk.
    static let windowBatches = 256

    private(set) var link: Link
    private var backoff: Backoff
    private var window: [Batch] = []
    private var pending: [LineBlock] = []
    /// The number of lines acknowledged on this connection.
    private var acknowledged = 0
    private var isSending = false
    /// The amount of memory above which events are spooled even though the daemon is reachable, because it is slower
    /// than the application.
    let spill: Amount

    init(reconnect: ClosedRange<Duration>, spill: Amount, now: Instant) {
        backoff = Backoff(reconnect)
        link = .down(until: now)
        self.spill = spill
    }

    /// The events that are in memory only.
    private(set) var memory = Amount()

    /// Whether any sent batch is not acknowledged.
    var isWaiting: Bool { !window.isEmpty }
    var isIdle: Bool { pending.isEmpty && window.isEmpty }

    /// - Parameter mustSpool: Whether to move all events from memory to the disk, whatever the state of the daemon.
    func next(now: Instant, disk: Disk, mustSpool: Bool = false) -> Action {
        let hasMemory = memory.lines > 0
        if case .down(let until) = link {
            if now >= until && !(mustSpool && hasMemory && disk.hasRoom) { return .connect }
            return hasMemory && disk.hasRoom ? .spool : .wait(until: until)
        }
        let spills = memory.bytes > spill.bytes || memory.lines > spill.lines
        if hasMemory && disk.hasRoom && (mustSpool || disk.unsent > 0 || spills) { return .spool }
        if isSending { return .resume }
        if window.count >= Self.windowBatches { return .wait(until: nil) }
        if disk.unsent > 0 { return .sendSpooled }
        if let block = pending.first { return .send(block) }
        return .wait(until: nil)
    }

    // MARK: Events of the connection and the disk

    mutating func take(_ blocks: [LineBlock]) {
        for block in blocks { memory += Amount(lines: block.lines, bytes: block.bytes.count) }
        pending += blocks
    }

    mutating func connected() {
        link = .up
        acknowledged = 0
    }

    /// The connection failed or was closed.
    /// - Returns: The acknowledged part of batches that were acknowledged in part: lines at the front of the disk, and
    ///   lines in memory.
    mutating func disconnected(now: Instant, using random: inout some RandomNumberGenerator) -> (
        spooledLines: Int, memory: Amount
    ) {
        link = .down(until: now + backoff.fail(using: &random))
        isSending = false
        var spooledLines = 0
        var freed = Amount()
        var kept: [LineBlock] = []
        for batch in window {
            guard var block = batch.block else {
                spooledLines += batch.acknowledged
                continue
            }
            let before = block.bytes.count
            block.removeFirst(lines: batch.acknowledged)
            freed += Amount(lines: batch.acknowledged, bytes: before - block.bytes.count)
            kept.append(block)
        }
        pending = kept + pending
        window = []
        memory -= freed
        return (spooledLines, freed)
    }

    /// Forgets all events. The connection has been closed, and is made again at once.
    /// - Returns: The events that were in memory only.
    mutating func purge(now: Instant) -> Amount {
        defer { memory = Amount() }
        link = .down(until: now)
        isSending = false
        window = []
        pending = []
        return memory
    }

    /// Adds a batch to the window: the first block in memory, or lines from the disk.
    mutating func begin(lines: Int, bytes: Int, block: LineBlock?) {
        if block != nil { pending.removeFirst() }
        window.append(Batch(lines: lines, bytes: bytes, block: block))
        isSending = true
    }

    mutating func finishedSending() { isSending = false }

    /// The oldest block that is in memory only, and whether it was sent already.
    var oldestInMemory: (block: LineBlock, wasSent: Bool)? {
        if let batch = window.first(where: { $0.block != nil }), let block = batch.block { return (block, true) }
        return pending.first.map { ($0, false) }
    }

    /// The block returned by `oldestInMemory` is on disk now.
    mutating func spooledOldest() {
        guard let (block, wasSent) = oldestInMemory else { return }
        memory -= Amount(lines: block.lines, bytes: block.bytes.count)
        if let index = window.firstIndex(where: { $0.block != nil }), wasSent {
            window[index].block = nil
        } else {
            pending.removeFirst()
        }
    }

    /// Returns an unacknowledged event that was sent on this connection, for diagnostics.
    ///
    /// - Parameter line: The number of its line on this connection, counted from 1.
    /// - Returns: nil if the event is on disk, or the number is not one of an unacknowledged line.
    func event(line: Int) -> RecordedEvent? {
        var first = acknowledged
        for batch in window {
            first -= batch.acknowledged
            if line > first, line - first <= batch.lines { return batch.block?.event(line - first - 1) }
            first += batch.lines
        }
        return nil
    }

    /// The daemon has acknowledged this many lines in total on this connection.
    mutating func acknowledged(upTo lines: Int) throws(ProtocolViolation) -> Settled {
        var left = lines - acknowledged
        // Check the number before anything is released.
        let unacknowledged = window.reduce(0) { $0 + $1.lines - $1.acknowledged }
        guard (0...unacknowledged).contains(left) else { throw ProtocolViolation() }
        acknowledged = lines
        var settled = Settled(lines: left)
        while left > 0 {
            guard let first = window.first else { break }
            let rest = first.lines - first.acknowledged
            guard left >= rest else {
                window[0].acknowledged += left
                break
            }
            left -= rest
            window.removeFirst()
            if let block = first.block {
                settled.memory += Amount(lines: first.lines, bytes: first.bytes)
                settled.blocks.append(block.bytes)
            } else {
                settled.spooled += first.bytes
            }
        }
        memory -= settled.memory
        // The daemon acknowledges lines, so the connection works: reset the backoff.
        backoff.reset()
        return settled
    }
}
