import Events
import Platform
import RequestBodies

/// One client's HTTP/1.1 requests: Segment's tracking API, OTLP logs, and questions about the daemon. It does not know
/// sockets.
///
/// - A request with events is answered once they are durable, and requests are answered in their order.
/// - It checks all events of a request before it stores one. If the body is not valid, nothing of it is stored.
/// - A client that sends requests without waiting for answers is read from as far as `AnswerQueue` allows.
/// - Memory: one body (bounded by `max_batch_size`), its events, and the answers.
package final class HTTPStream: ClientStream {
    /// Bytes that are parsed before the turn's time is checked. In chunks of one byte, they take as long as 500 KiB in
    /// one.
    private static let slice = 16 << 10

    private let origin: Origin
    private let user: ClientUser
    private let connection: UInt64
    private var door: HTTPDoor
    private let parser: HTTPParser
    private var request: HTTPRequest?
    /// The last head that led to a body, and the generation of the access with which it was examined.
    private var last: (head: ExaminedHead, generation: UInt64)?
    /// Events that the journal has no room for, and since when.
    private var submission: EventSubmission?
    private var stalledSince = Instant(nanoseconds: 0)
    /// Whether the request is complete, and its events are made in the next turn.
    private(set) var hasDeferred = false
    private var answers = AnswerQueue()
    /// Bytes of empty lines before a request. A few are allowed (RFC 9112, section 2.2).
    private var blank = 0
    private static let maximumBlank = 1024
    private var isMute = false
    /// Keeps the state of the client beyond the process; nil: nothing does.
    private let slot: ClientSlot?
    /// Where the request that is being read or stored begins and ends in the client's stream.
    private var requestStart: UInt64 = 0
    private var requestEnd: UInt64 = 0
    /// Requests up to this place are in the journal, and of the request that begins there, this many events. They are
    /// answered and not stored again.
    private let storedEnd: UInt64
    private let storedEvents: Int
    /// Refused events since the last accepted one; a refused request counts as one event.
    private var refusalsInARow = 0
    private(set) var hasEnded = false
    private(set) var hasTooManyRefusals = false
    private var freedBytes = 0
    /// Requests that have ended.
    private(set) var linesEnded: UInt64 = 0

    /// - Parameters:
    ///   - user: whom the limits of this client belong to.
    ///   - connection: unique in the process.
    package convenience init(origin: Origin, user: ClientUser, connection: UInt64, door: HTTPDoor) {
        self.init(origin: origin, user: user, connection: connection, door: door, slot: nil)
    }

    /// - Parameter slot: tells where the stream of an earlier process goes on.
    init(origin: Origin, user: ClientUser, connection: UInt64, door: HTTPDoor, slot: ClientSlot?) {
        self.slot = slot
        requestStart = slot?.record.restart ?? 0
        storedEnd = slot?.record.settled ?? 0
        storedEvents = Int(clamping: slot?.record.settledState.lines ?? 0)
        self.origin = origin
        self.user = user
        self.connection = connection
        self.door = door
        parser = HTTPParser(maximumHead: door.access.limits.maximumHead)
    }

    var isStalled: Bool { submission != nil }
    var wantsAnswers: Bool { !isMute }
    var isWaitingForDisk: Bool { !isMute && answers.awaitedEnd != nil }
    var awaitedEnd: UInt64? { answers.awaitedEnd }
    var keptState: ClientRecord.State { ClientRecord.State() }
    func answered(settled: UInt64) -> UInt64? { answers.isEmpty ? settled : nil }
    func settled(_ place: UInt64) -> UInt64 {
        parser.isInRequest || submission != nil || hasDeferred ? requestStart : place
    }
    var hasUnfinishedLine: Bool { !isStalled && parser.isInRequest && !hasEnded }
    var mayTake: Bool { !answers.isFull }
    var isSlowedDown: Bool { false }
    package var heldBytes: Int {
        answers.size + parser.heldBytes + (request?.heldBytes ?? 0) + (submission?.heldBytes ?? 0)
            + (last?.head.writeKey?.capacity ?? 0)
    }

    package func take(
        _ bytes: Span<UInt8>, through admission: EventAdmission, answerLimit: Int, turn: inout TurnBudget
    ) -> Int {
        if submission != nil {
            guard submit(through: admission, &turn) else { return 0 }
        }
        if hasDeferred {
            hasDeferred = false
            guard complete(through: admission, &turn) else { return 0 }
        }
        var at = 0
        while !hasEnded,
            parser.isAfterHead
                || (at < bytes.count && !turn.isSpent && mayTake && answers.size < answerLimit
                    && slot?.record.hasRoom ?? true)
        {
            let (event, used) = parser.parse(bytes.extracting(at..<min(at + Self.slice, bytes.count)))
            at += used
            request?.append(parser.takeBody(), read: used)
            switch event {
            case .needsMore:
                if parser.isInRequest || request != nil { blank = 0 } else { blank += used }
                if blank > Self.maximumBlank { fail("it begins with too many empty lines", through: admission) }
                closeIfHopeless(through: admission)
                turn.spend(accepted: 0, refused: 0, at: admission.now())
            case .head(let head, let isRepeated): begin(head, isRepeated, through: admission)
            case .end:
                requestEnd = (slot?.base ?? 0) + UInt64(at)
                if turn.defersLargeBodies, request?.heldBytes ?? 0 > Conduct.lightTurn {
                    hasDeferred = true
                    return at
                }
                guard complete(through: admission, &turn) else { return at }
                continue
            case .failed(let reason): fail(reason, through: admission)
            }
            // Its client is as suspect as one whose whole requests are refused.
            if hasEnded { turn.spend(accepted: 0, refused: 1, at: admission.now()) }
        }
        return hasEnded ? bytes.count : at
    }

    func finish(through admission: EventAdmission) {
        guard parser.isInRequest, !hasEnded else { return }
        admission.refuse(
            Refusal(reason: .invalidRequest, detail: "the connection ended in the middle of a request; send it again"))
        hasEnded = true
    }

    func end(_ refusal: Refusal, through admission: EventAdmission) {
        guard !hasEnded else { return }
        let wasInRequest = parser.isInRequest || submission != nil || hasDeferred
        if var abandoned = submission {
            abandoned.abandon(refusal, through: admission)
            submission = nil
        } else if wasInRequest {
            admission.refuse(refusal)
        }
        let status: HTTPAnswer.Status = refusal.reason == .lineTimeout ? .timeout : .unavailable
        // A client that sends nothing expects no answer.
        if wasInRequest { answer(.refusal(status, refusal), closes: true) }
        close()
    }

    func giveUp(at now: Instant, through admission: EventAdmission) -> Bool {
        guard var abandoned = submission, now - stalledSince >= door.access.limits.maximumWait else { return false }
        abandoned.abandon(
            Refusal(
                reason: .journalFull,
                detail: """
                    the journal had no room for \(Readable.duration(door.access.limits.maximumWait)) (max_wait); send \
                    the request again
                    """), through: admission)
        submission = nil
        requestStart = requestEnd
        conclude(abandoned)
        return true
    }

    func use(_ door: HTTPDoor) {
        self.door = door
        last = nil
    }

    func rest() {
        parser.rest()
        if request == nil { last = nil }
    }

    func takeFreedBytes() -> Int {
        defer { freedBytes = 0 }
        return freedBytes
    }

    func stopAnswering() {
        isMute = true
        answers.discard()
    }

    package func durable(upTo position: UInt64) { answers.durable(upTo: position) }

    package func takeAnswers() -> [UInt8]? { answers.takeReady() }

    // MARK: Requests

    private func begin(_ head: HTTPRequestHead, _ isRepeated: Bool, through admission: EventAdmission) {
        let generation = door.accessGeneration
        let examined: ExaminedHead
        if isRepeated, let last, last.generation == generation {
            examined = last.head
        } else {
            examined = ExaminedHead(head, for: door.access, isReady: door.obstacle)
            last = examined.verdict == nil && parser.knowsHead ? (examined, generation) : nil
        }
        let request = HTTPRequest(examined, contentLength: head.contentLength)
        self.request = request
        parser.keepsBody = request.verdict == nil
        if request.verdict == nil, request.expectsContinue, !isMute { answers.add(HTTPAnswer.proceed, after: 0) }
        closeIfHopeless(through: admission)
    }

    /// Answers a refused request whose body is not worth reading.
    private func closeIfHopeless(through admission: EventAdmission) {
        guard let request else { return }
        if request.verdict != nil { parser.keepsBody = false }
        guard request.isHopeless, let verdict = request.verdict else { return }
        refuse(verdict, through: admission)
        answer(verdict, closes: true)
    }

    /// - Returns: false: the journal has no room.
    private func complete(through admission: EventAdmission, _ turn: inout TurnBudget) -> Bool {
        linesEnded &+= 1
        defer { if submission == nil { requestStart = requestEnd } }
        guard var request else { return true }
        do throws(RequestProblem) {
            if request.verdict == nil, let (lines, key) = try lines(of: &request) {
                if let limited = spend(lines.count, request.access.known(key), through: admission) {
                    turn.spend(accepted: 0, refused: lines.count, at: admission.now())
                    answer(limited, closes: !request.head.keepsAlive)
                    return true
                }
                var submission = try EventSubmission(lines, through: admission) { problem(of: &request) }
                if slot != nil {
                    submission.skip(requestEnd <= storedEnd ? .max : requestStart == storedEnd ? storedEvents : 0)
                }
                self.submission = submission
                return submit(through: admission, &turn)
            }
        } catch {
            request.refuse(error)
        }
        let verdict = request.verdict ?? .unknownWriteKey
        let isRefused = verdict.status.rawValue >= 400
        if isRefused { refuse(verdict, through: admission) }
        turn.spend(accepted: 0, refused: isRefused ? 1 : 0, at: admission.now())
        answer(verdict, closes: !request.head.keepsAlive || request.head.method == .other)
        return true
    }

    /// Why a body is not valid JSON; nil: it is, or its lines were not cut out of it.
    private func problem(of request: inout HTTPRequest) -> RequestProblem? {
        guard case .tracking = request.route, let body = try? request.finishBody() else { return nil }
        return door.reader.problem(in: body.span)
    }

    /// Counts a request's events against the rate limit.
    /// - Returns: the answer to a request that must come later.
    private func spend(_ events: Int, _ writeKey: [UInt8]?, through admission: EventAdmission) -> HTTPAnswer? {
        guard let limiter = door.limiter else { return nil }
        let key = limiter.key(user: user, connection: connection, writeKey: writeKey)
        let now = admission.now()
        guard let wait = limiter.wait(key, at: now) else {
            limiter.spend(key, events: events, at: now)
            return nil
        }
        let refusal = Refusal(
            reason: .rateLimited,
            detail: """
                more than \(limiter.limit.eventsPerSecond) events per second (rate_limit of this source); send the \
                request again after the time in Retry-After
                """)
        admission.refuse(refusal, times: events)
        var answer = HTTPAnswer.refusal(.tooManyRequests, refusal)
        // Rounded up. Longer than a day is as good as a day.
        answer.retryAfter = Int(min(wait.components.seconds, 86_400)) + 1
        return answer
    }

    /// The events in the body, and their write key; nil: it is not known.
    private func lines(of request: inout HTTPRequest) throws(RequestProblem) -> (EventLines, key: [UInt8]?)? {
        let body = try request.finishBody()
        switch request.route {
        case .tracking(let endpoint):
            let (lines, key) = try door.reader.read(body.span, for: endpoint)
            let writeKey = request.writeKey ?? key.map { Array($0.utf8) }
            return request.access.accepts(writeKey) ? (lines, writeKey) : nil
        case .logs:
            let encoding = request.head.logEncoding ?? .protobuf
            return (try OTLPLogs.lines(of: body.span, encoding, limits: door.logLimits), request.writeKey)
        default: return nil
        }
    }

    /// - Returns: false: the journal has no room.
    private func submit(through admission: EventAdmission, _ turn: inout TurnBudget) -> Bool {
        guard var submission else { return true }
        let wasStalled = submission.wasStalled
        guard submission.offer(through: admission, from: origin, slot, from: requestStart, to: requestEnd) else {
            if !wasStalled { stalledSince = admission.now() }
            self.submission = submission
            return false
        }
        self.submission = nil
        requestStart = requestEnd
        turn.spend(accepted: submission.accepted, refused: submission.refused.count, at: admission.now())
        refusalsInARow = submission.accepted > 0 ? 0 : refusalsInARow + submission.refused.count
        endIfRefusedTooOften(by: admission)
        conclude(submission)
        return true
    }

    /// Answers a request whose events are in the journal or refused.
    private func conclude(_ submission: EventSubmission) {
        freedBytes += submission.heldBytes
        guard let request else { return }
        answer(request.answer(submission), closes: !request.head.keepsAlive, after: submission.end)
    }

    private func fail(_ reason: String, through admission: EventAdmission) {
        let answer =
            if parser.isHeadTooLarge {
                HTTPAnswer.refusal(
                    .headTooLarge,
                    Refusal(
                        reason: .invalidRequest,
                        detail: """
                            the request's target and header fields are larger than \(door.access.limits.maximumHead) \
                            bytes; send fewer or smaller fields, or raise max_request_head of this source
                            """))
            } else {
                HTTPAnswer.refusal(
                    .badRequest,
                    Refusal(reason: .invalidRequest, detail: "the request is not valid HTTP/1.1: \(reason)"))
            }
        refuse(answer, through: admission)
        self.answer(answer, closes: true)
    }

    // MARK: Answers

    private func refuse(_ verdict: HTTPAnswer, through admission: EventAdmission) {
        if let refusal = verdict.refusal { admission.refuse(refusal) }
        refusalsInARow += 1
        endIfRefusedTooOften(by: admission)
    }

    private func endIfRefusedTooOften(by admission: EventAdmission) {
        guard refusalsInARow >= admission.limits.maximumConsecutiveRefusals else { return }
        hasTooManyRefusals = true
    }

    private func answer(_ answer: HTTPAnswer, closes: Bool, after end: UInt64 = 0) {
        var answer = answer
        answer.closes =
            closes || hasTooManyRefusals || door.isWithdrawn
            || (door.endsConnections && slot == nil)
        request?.complete(&answer)
        if !isMute {
            answers.add(door.bytes(of: answer, withoutBody: request?.head.method == .head), after: end)
        }
        request = nil
        if answer.closes { close() }
    }

    private func close() {
        hasEnded = true
        hasDeferred = false
        request = nil
        last = nil
        // It may take a while until the connection can be closed.
        parser.forget()
    }
}
