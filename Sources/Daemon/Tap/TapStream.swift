import Control
import Platform

/// The lines of one tap: applies the rate and the limit, sends records in pieces, and reports what was missed. Belongs
/// to the tap's thread.
struct TapStream {
    /// A piece is sent when it has this many bytes.
    private static let piece = 64 << 10
    /// How often the client gets the number of events that it missed.
    private static let noticePeriod = Duration.seconds(1)

    private let lines: ControlLines
    private let limit: Int?
    private var pace: TapPace
    private var now: Instant
    /// Lines that were not sent yet, and the number of their records.
    private var bytes: [UInt8] = []
    private var records = 0
    /// The number of records sent.
    private var sent = 0
    private var missed: UInt64 = 0
    private var reported: UInt64 = 0
    private var reportedAt: Instant
    /// When the client last had room for everything, or there was nothing to send.
    private(set) var progressed: Instant

    /// - Parameter rate: the most records per second.
    init(_ lines: ControlLines, limit: Int?, rate: Int, now: Instant) {
        self.lines = lines
        self.limit = limit
        self.now = now
        pace = TapPace(rate: rate, now: now)
        reportedAt = now
        progressed = now
    }

    /// Whether the limit is reached.
    var isComplete: Bool { limit.map { sent >= $0 } ?? false }

    /// Whether another record may be sent now.
    var hasRoom: Bool { pace.mayTake }

    mutating func begin(now: Instant) {
        self.now = now
        pace.advance(to: now)
    }

    /// Adds a record, which is made only if there is room.
    mutating func add(_ record: () -> TapRecord) {
        if let limit, sent + records >= limit { return }
        guard pace.mayTake else { return miss(1) }
        let line = record().bytes
        pace.take(line.count)
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "\n")) }
        bytes.append(contentsOf: line)
        records += 1
        if bytes.count >= Self.piece { send() }
    }

    mutating func miss(_ count: UInt64) { missed &+= count }

    /// Sends what was added, and from time to time what was missed.
    mutating func flush() {
        if bytes.isEmpty { progressed = now } else { send() }
        if missed != reported, now - reportedAt >= Self.noticePeriod { report() }
    }

    /// Sends the reason why the stream ends.
    mutating func end(because reason: String) {
        flush()
        if missed != reported { report() }
        lines.send(TapNotice(ended: reason).line)
    }

    private mutating func report() {
        reportedAt = now
        if lines.send(TapNotice(missed: missed).line) == .sent { reported = missed }
    }

    private mutating func send() {
        switch lines.send(bytes) {
        case .sent:
            sent += records
            progressed = now
        case .dropped: missed &+= UInt64(records)
        case .closed: break
        }
        bytes.removeAll(keepingCapacity: true)
        records = 0
    }
}
