import Events
import Platform
import Telemetry

/// The datagram socket of one source. It belongs to the thread of `DatagramLoop`.
///
/// A turn receives a bounded number of messages and offers them to the journal. Consecutive messages of one sender are
/// one append, because a batch in the journal has one origin. While the journal is busy, the rest of the messages waits
/// here, and the socket is not read.
///
/// Messages of a user that has sent more events than `rate_limit` allows are refused. If they waited, they would fill
/// the kernel's queue, which all users share.
final class DatagramListener: @unchecked Sendable {
    enum Outcome {
        /// More messages may be there.
        case more
        /// The socket is empty.
        case empty
        /// The journal is busy.
        case stalled
        case failed(SystemError)
    }

    /// The bytes of memory for the messages of a turn, unless one event may be larger.
    private static let memory = 1 << 20
    private static let mostMessages = 32

    let socket: FileDescriptor
    private let source: String
    private let admission: Admission
    private let events: EventAdmission
    private let limiter: RateLimiter?
    private let notices: LimitNotices
    private let telemetry: Telemetry?
    private let receiver: DatagramBuffer
    /// The messages of `receiver` from `next` to `received` are not processed yet.
    private var received = 0
    private var next = 0
    /// The scanned events of one sender that the journal has not taken yet, and the index of the message behind them.
    private var run: (origin: Origin, end: Int)?
    private var lines = DatagramLines()
    /// Nothing waits for room in the journal any more.
    private var isEnding = false

    /// - Parameter socket: receives credentials.
    init(
        source: String, socket: consuming FileDescriptor, admission: Admission, events: EventAdmission,
        limiter: RateLimiter?, notices: LimitNotices, telemetry: Telemetry?
    ) {
        self.socket = socket
        self.source = source
        self.admission = admission
        self.events = events
        self.limiter = limiter
        self.notices = notices
        self.telemetry = telemetry
        let slot = events.maximumEventSize + NDJSONStream.whiteSpaceAllowance
        receiver = DatagramBuffer(slotSize: slot, count: min(max(1, Self.memory / slot), Self.mostMessages))
    }

    /// Receives messages, unless some wait here, and offers them to the journal.
    func turn() -> Outcome {
        var isEmpty = false
        if run == nil, next == received {
            switch receiver.receive(from: socket) {
            case .messages(let count):
                (next, received) = (0, count)
                // The kernel had no more than these.
                isEmpty = count < receiver.count
            case .nothing: return .empty
            case .failed(let error): return .failed(error)
            }
        }
        while run != nil || next < received {
            if run == nil { collect() }
            guard offer() else { return .stalled }
        }
        return isEmpty ? .empty : .more
    }

    /// Offers what was received a last time. What the journal does not take is refused, counted and logged.
    /// - Parameter empties: whether the messages in the socket are offered too. The socket must be shut down, so that
    ///   there is an end of them.
    func end(empties: Bool) {
        isEnding = true
        while run != nil || next < received {
            if run == nil { collect() }
            _ = offer()
        }
        if empties { while case .more = turn() {} }
    }

    /// Scans the next messages as far as they have the same sender.
    private func collect() {
        let receiver = receiver
        let sender = receiver[next].sender
        let origin =
            sender.map { Origin(source: source, uid: $0.uid, gid: $0.gid, pid: $0.pid) }
            ?? Origin(unknownPeerOf: source)
        let user = ClientUser.local(origin.uid)
        let now = events.now()
        let refusal = admission.refusal(ofSender: origin)
        var (unwanted, limited) = (0, 0)
        lines.removeAll()
        while next < received, receiver[next].sender == sender {
            defer { next += 1 }
            if refusal != nil {
                unwanted += 1
                continue
            }
            if let limiter {
                let key = limiter.key(ofDatagramsOf: user)
                if limiter.wait(key, at: now) != nil {
                    limited += 1
                    continue
                }
                limiter.spend(key, events: 1, at: now)
            }
            if receiver[next].length > receiver.slotSize {
                events.refuse(.tooLarge(maximum: events.maximumEventSize))
            } else {
                _ = lines.append(receiver.bytes(of: next))
            }
        }
        if let refusal, unwanted > 0 { events.refuse(refusal, times: unwanted) }
        if let limiter, limited > 0 { refuse(limited, of: user, by: limiter.limit) }
        guard lines.count > 0 else { return }
        events.scan(lines.bytes.span, maximumRefused: .max)
        for (index, line) in events.refused.enumerated()
        where line.reason == .invalidJSON && lines.hasSeveralObjects(line.line) {
            events.refused[index] = RefusedLine(line: line.line, refusal: .severalEvents)
        }
        run = (origin, next)
    }

    private func refuse(_ messages: Int, of user: ClientUser, by limit: ClientRateLimit) {
        let detail = "\(user) sends more than \(limit.eventsPerSecond) events per second (rate_limit of this source)"
        events.refuse(
            Refusal(
                reason: .rateLimited,
                detail: "\(detail); send datagrams more slowly, or send to the stream socket, where the sender waits"),
            times: messages)
        notices.note(.rateLimit, "\(detail), so its datagrams are refused")
    }

    /// - Returns: false if the journal is busy.
    private func offer() -> Bool {
        guard let run else { return true }
        if !events.accepted.isEmpty {
            switch events.append(lines.bytes.span, from: run.origin) {
            case .queued: break
            case .busy:
                guard isEnding else { return false }
                lose(Refusal(reason: .journalFull, detail: "the daemon is stopping, and the journal has no room"))
            case .refused(let refusal): lose(refusal)
            }
        }
        events.settleRefused(lines.bytes.span)
        self.run = nil
        return true
    }

    /// Refuses events that the journal does not take.
    private func lose(_ refusal: Refusal) {
        for event in events.accepted {
            events.refused.append(RefusedLine(line: Int(event.line), refusal: refusal))
        }
        telemetry?.emit(
            DatagramsLost(source: source, events: UInt64(events.accepted.count), detail: refusal.detail))
    }
}

extension Refusal {
    fileprivate static let severalEvents = Refusal(
        reason: .invalidJSON,
        detail: "more than one JSON object in a datagram: send each event as a datagram of its own")
}
