/// What a client of the daemon does next: a pure state machine. It decides; `DaemonWorker` performs.
///
/// Events leave in the order in which they were recorded. They lie, oldest first: in the window (sent,
/// not acknowledged), on disk, and in memory (`pending`). Two rules keep that so:
///
/// - In the window, what lies on disk comes before what lies in memory alone.
/// - Nothing is sent from memory while anything on disk is unsent; then memory goes to the disk's end.
///
/// So a lost connection costs nothing but time: the window's memory goes before `pending`, the disk is
/// read from its last acknowledged byte, and all is as if it had never been sent.
struct DaemonSession {
    typealias Instant = ContinuousClock.Instant

    enum Link: Equatable {
        case down(until: Instant)
        case up
    }

    enum Action: Equatable {
        case connect
        /// Write what is in memory to the disk's end.
        case spool
        /// Go on with what is being sent.
        case resume
        /// Read the next lines from the disk, and send them.
        case sendSpooled
        /// Send this block.
        case send(LineBlock)
        /// Nothing, until something happens or the time has come.
        case wait(until: Instant?)
    }

    /// What the disk is like.
    struct Disk {
        var unsent: Int
        var hasRoom: Bool
    }

    /// What was sent at once.
    private struct Batch {
        var lines: Int
        /// How many of them are acknowledged.
        var acknowledged = 0
        var bytes: Int
        /// Where it lies; nil: on disk.
        var block: LineBlock?
    }

    /// What an acknowledgement frees.
    struct Settled: Equatable {
        /// Of the lines those that lay in memory alone.
        var memory = Amount()
        /// Bytes at the disk's front.
        var spooled = 0
        var lines = 0
        /// Memory to be used again.
        var blocks: [[UInt8]] = []
    }

    struct Amount: Equatable {
        var lines = 0
        var bytes = 0

        static func += (a: inout Amount, b: Amount) { a = Amount(lines: a.lines + b.lines, bytes: a.bytes + b.bytes) }
        static func -= (a: inout Amount, b: Amount) { a = Amount(lines: a.lines - b.lines, bytes: a.bytes - b.bytes) }
    }

    /// The daemon does not keep to the protocol.
    struct ProtocolViolation: Error {}

    /// Batches that may be sent and not acknowledged; what is in them is bounded by the queue and the disk.
    static let windowBatches = 256

    private(set) var link: Link
    private var delay: RetryDelay
    private var window: [Batch] = []
    private var pending: [LineBlock] = []
    /// Lines acknowledged on this connection.
    private var acknowledged = 0
    private var isSending = false
    /// What may be in memory before it goes to disk although the daemon is there: it is slower than the
    /// application.
    let spill: Amount

    init(reconnect: ClosedRange<Duration>, spill: Amount, now: Instant) {
        delay = RetryDelay(reconnect)
        link = .down(until: now)
        self.spill = spill
    }

    /// What lies in memory alone.
    private(set) var memory = Amount()

    /// Whether something was sent that is not acknowledged.
    var isWaiting: Bool { !window.isEmpty }
    var isIdle: Bool { pending.isEmpty && window.isEmpty }

    /// - Parameter mustSpool: memory is to be emptied to the disk, whatever the daemon does.
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

    // MARK: What happened

    mutating func take(_ blocks: [LineBlock]) {
        for block in blocks { memory += Amount(lines: block.lines, bytes: block.bytes.count) }
        pending += blocks
    }

    mutating func connected() {
        link = .up
        acknowledged = 0
    }

    /// The connection failed, or ended.
    /// - Returns: what was acknowledged of a batch that was not as a whole: lines at the disk's front, or in
    ///   memory.
    mutating func disconnected(now: Instant, using random: inout some RandomNumberGenerator) -> (spooledLines: Int, memory: Amount) {
        link = .down(until: now + delay.fail(using: &random))
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

    /// The first block in memory, or lines from the disk, are being sent.
    mutating func begin(lines: Int, bytes: Int, block: LineBlock?) {
        if block != nil { pending.removeFirst() }
        window.append(Batch(lines: lines, bytes: bytes, block: block))
        isSending = true
    }

    mutating func finishedSending() { isSending = false }

    /// The oldest block in memory alone, and whether it was sent already.
    var oldestInMemory: (block: LineBlock, wasSent: Bool)? {
        if let batch = window.first(where: { $0.block != nil }), let block = batch.block { return (block, true) }
        return pending.first.map { ($0, false) }
    }

    /// That block is on disk now.
    mutating func spooledOldest() {
        guard let (block, wasSent) = oldestInMemory else { return }
        memory -= Amount(lines: block.lines, bytes: block.bytes.count)
        if let index = window.firstIndex(where: { $0.block != nil }), wasSent {
            window[index].block = nil
        } else {
            pending.removeFirst()
        }
    }

    /// The daemon has settled so many lines of this connection.
    mutating func acknowledged(upTo lines: Int) throws(ProtocolViolation) -> Settled {
        var left = lines - acknowledged
        // Looked at before anything is let go of.
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
        // It takes what it is sent: this connection was worth while.
        delay.reset()
        return settled
    }
}
