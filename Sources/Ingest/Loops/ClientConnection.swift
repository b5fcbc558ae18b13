import Events
import Platform
import Synchronization

/// One client of a stream socket, on its event loop. Moves bytes between the socket and the client's protocol, one turn
/// at a time.
///
/// - On a Unix socket, the client's first byte selects the protocol: a capital letter begins an HTTP method, and no
///   JSON. TCP clients speak HTTP.
/// - A turn reads once and processes as much as its budget allows. The rest stays here, and nothing more is read until
///   it is processed.
/// - Unread bytes stay in the kernel, whose full buffer makes the client wait.
final class ClientConnection {
    /// The state of a connection after its turn.
    enum Outcome: Equatable {
        /// More work is ready: it needs another turn, after the other connections have had theirs.
        case more
        /// It waits for its client or for a commit.
        case waits
        /// The journal had no room.
        case stalled
        /// It has input, but must wait for connections that stalled before it.
        case parked
        /// It may have input, but has sent more events than the rate limit allows.
        case throttled(until: Instant)
        case closed
    }

    /// Bytes read per turn: `largeRead` for a trusted client, `smallRead` for any other.
    static let largeRead = 256 << 10
    static let smallRead = 16 << 10
    /// While connections with more than this share of `max_buffered` are still to be closed, only trusted clients that
    /// have nothing unfinished are read from. The others wait.
    private static let closingShare = 16
    private static let closingPause = Duration.milliseconds(1)

    let id: UInt64
    let user: ClientUser
    let listener: SourceListener
    private(set) var admission: EventAdmission
    var transport: ClientTransport
    /// Its place in the memory that outlives the process; nil: it ends with the process.
    let slot: ClientSlot?
    private var door: HTTPDoor
    private let origin: Origin
    var stream: any ClientStream
    private var mayBeHTTP: Bool
    /// Input that was read; the part from `taken` on is not processed yet.
    var pending: [UInt8] = []
    var taken = 0
    private(set) var isGone = false
    private(set) var inputEnded = false
    private(set) var isFinished = false
    /// Whether an earlier process has left it to this one.
    var isLeft = false
    /// Whether it is queued for a turn.
    var isQueued = false
    /// Set by the loop. Stalled: it waits for room in the journal. Parked: it waits behind stalled connections.
    var isStalledInLoop = false
    var isParked = false
    /// A newer connection takes its place, or the client was silent for too long. It is closed once everything that the
    /// client sent is processed.
    var isLeaving = false
    var conduct = Conduct()
    /// The journal position that the loop has noted for its latest unacknowledged lines.
    var notedEnd: UInt64 = 0
    private(set) var lastByte: Instant
    var lineSince: Instant
    var lineNumber: UInt64 = 0
    var hadLine = false
    var endedSince: Instant?
    let activity: ClientActivity
    /// The buffered bytes that it has reported last.
    var reportedBytes = 0

    /// - Parameters:
    ///   - user: whom the limits of this client belong to.
    ///   - slot: also says where the connection of an earlier process goes on; call `resume` then.
    ///   - loop: what it shares with the other clients of its listener on its event loop.
    init(
        id: UInt64, socket: consuming FileDescriptor, origin: Origin, user: ClientUser, listener: SourceListener,
        loop: SourceListener.LoopAdmission, activity: ClientActivity, slot: ClientSlot? = nil
    ) {
        self.id = id
        self.slot = slot
        transport = ClientTransport(socket, listener.transport, isKept: slot != nil)
        self.user = user
        self.origin = origin
        self.listener = listener
        admission = loop.admission
        door = loop.door
        let isHTTP = slot?.record.isHTTP ?? listener.transport.isTCP
        mayBeHTTP = !isHTTP && slot?.record.restart ?? 0 == 0
        if isHTTP {
            stream = HTTPStream(origin: origin, user: user, connection: id, door: door, slot: slot)
        } else {
            stream = NDJSONStream(origin: origin, slot: slot)
        }
        self.activity = activity
        lastByte = activity.state.lastByte
        lineSince = lastByte
    }

    deinit { close() }

    var isOpen: Bool { transport.isOpen }
    /// The journal position that its acknowledgement waits for.
    var awaitedEnd: UInt64? {
        let answered = stream.isWaitingForDisk ? stream.awaitedEnd : nil
        let isEnding = isFinished || inputEnded || isLeaving || stream.hasEnded
        let kept = isEnding ? slot?.record.awaitedEnd : slot?.awaitedEnd
        return answered.map { max($0, kept ?? 0) } ?? kept
    }

    func register(with poll: SocketPoll) throws(SystemError) {
        try transport.register(with: poll, tag: id)
    }

    /// Chooses another event loop, before one has added it.
    func assign(toLoop number: Int) {
        admission = listener.eventAdmissions[number].admission
        door = listener.eventAdmissions[number].door
        stream.use(door)
    }

    /// Records a readiness report from the kernel.
    func ready(_ readiness: SocketPoll.Readiness) {
        transport.ready(readiness)
        if readiness.isGone { peerIsGone() }
    }

    func durable(upTo position: UInt64) { stream.durable(upTo: position) }
    func takeFreedBytes() -> Int { stream.takeFreedBytes() }

    // MARK: A turn

    /// - Parameters:
    ///   - buffer: the loop's read buffer.
    ///   - mayTake: true if no connection of this loop waits for room in the journal, or if this one does.
    ///   - defersLargeBodies: whether a request with a large body is left to the next turn.
    func serve(_ buffer: inout [UInt8], at now: Instant, mayTake: Bool, defersLargeBodies: Bool = false) -> Outcome {
        guard isOpen else { return .closed }
        var turn = TurnBudget(startingAt: now)
        turn.defersLargeBodies = defersLargeBodies
        // Before it is asked whether there is room for more input.
        slot?.record.settle(durable: admission.durableEnd)
        flush()
        if hasWork {
            guard mayTake else {
                reportUsage(at: now)
                return .parked
            }
            if let wait = rateLimitWait(at: now) ?? closingWait {
                reportUsage(at: now)
                return .throttled(until: now + wait)
            }
            if stream.isStalled || stream.hasDeferred || taken < pending.count {
                takePending(&turn)
            } else if mayRead && !stream.hasEnded {
                read(&buffer, at: now, &turn)
            }
            if inputEnded && taken == pending.count && !stream.isStalled && !stream.hasDeferred && !isFinished {
                isFinished = true
                placeInput(0)
                stream.finish(through: admission)
                noteProgress()
            }
            flush()
            conduct.note(turn, hasMore: taken < pending.count || stream.hasDeferred)
            if stream.hasDeferred { conduct.isTurnedAway() }
            if stream.isSlowedDown, let limiter = listener.limiter {
                limiter.spend(limiter.key(user: user, connection: id), events: turn.events, at: now)
            }
        }
        noteAnswers()
        if stream.hasTooManyRefusals, endedSince == nil { noteTooManyRefusals() }
        if stream.hasEnded || isFinished, endedSince == nil { endedSince = now }
        return outcome(at: now)
    }

    /// Whether there is input to process or to read, and the client reads its answers.
    private var hasWork: Bool {
        // Other connections wait behind a stalled one, so it retries even if its client does not read answers.
        if stream.isStalled { return true }
        guard transport.unsent < admission.limits.maximumUnreadAnswers else { return false }
        if stream.hasDeferred { return true }
        if inputEnded && !isFinished && (taken == pending.count || stream.hasEnded) { return true }
        return !stream.hasEnded && stream.mayTake && slot?.record.hasRoom ?? true && (taken < pending.count || mayRead)
    }

    private var mayRead: Bool {
        transport.canRead && slot?.record.canRead ?? true && !inputEnded && !transport.isReadOut
    }

    /// The daemon is about to end: only what the client has sent already is read. Each request over HTTP that is
    /// answered now is the connection's last one.
    func readLast() {
        transport.readLast()
        door.endsConnections = true
    }

    /// Comes after the last look at what is durable. What the connection waits for (`awaitedEnd`) follows from the same
    /// look, so no commit passes between the two unnoticed.
    private func outcome(at now: Instant) -> Outcome {
        if stream.hasEnded || isFinished || (isGone && inputEnded) {
            let isSettled = !stream.isStalled && !isWaitingForDisk && (stream.hasEnded || taken == pending.count)
            if isSettled && (transport.unsent == 0 || isGone) && (isFinished || stream.hasEnded) {
                close()
                return .closed
            }
        }
        reportUsage(at: now)
        if isLeaving, isIdle, !isWaitingForDisk {
            close()
            return .closed
        }
        if stream.isStalled {
            guard let slot, slot.isHeldBack else { return .stalled }
            return slot.record.hasRoom ? .more : .waits
        }
        return hasWork ? .more : .waits
    }

    // MARK: In

    private func read(_ buffer: inout [UInt8], at now: Instant, _ turn: inout TurnBudget) {
        // Of a user that must wait, the first byte tells whether the client will be told so, or is read from later.
        let limit = mayBeHTTP && rateLimitDebt(at: now) != nil ? 1 : conduct.isTrusted ? Self.largeRead : Self.smallRead
        let received: Received
        if let slot {
            received = transport.receive(into: slot, limit: limit)
            if case .bytes = received { slot.withReceived { process($0, at: now, &turn) } }
        } else {
            received = transport.receive(into: &buffer, limit: limit)
            if case .bytes(let count) = received { process(buffer.span.extracting(first: count), at: now, &turn) }
        }
        switch received {
        case .bytes: break
        case .nothing: break
        case .end:
            inputEnded = true
        case .gone:
            if let failure = transport.failure {
                admission.refuse(
                    Refusal(reason: .invalidRequest, detail: "the encrypted connection (TLS) failed: \(failure)"))
                // So that clients that fail again and again are accepted more slowly.
                turn.spend(accepted: 0, refused: 1, at: now)
            }
            inputEnded = true
            peerIsGone()
        }
    }

    private func process(_ bytes: Span<UInt8>, at now: Instant, _ turn: inout TurnBudget) {
        lastByte = now
        placeInput(bytes.count)
        if mayBeHTTP { chooseProtocol(firstByte: bytes[0]) }
        let done = stream.take(bytes, through: admission, answerLimit: answerRoom, turn: &turn)
        turn.note(bytes: done)
        if done < bytes.count {
            pending = []
            pending.append(contentsOf: bytes.extracting(done..<bytes.count))
            taken = 0
        }
        noteProgress()
    }

    private func chooseProtocol(firstByte: UInt8) {
        mayBeHTTP = false
        guard UInt8(ascii: "A") <= firstByte, firstByte <= UInt8(ascii: "Z") else { return }
        slot?.record.chooseHTTP()
        stream = HTTPStream(origin: origin, user: user, connection: id, door: door, slot: slot)
    }

    private func takePending(_ turn: inout TurnBudget) {
        placeInput(pending.count - taken)
        let bytes = pending
        if mayBeHTTP, taken < bytes.count { chooseProtocol(firstByte: bytes[taken]) }
        let done = stream.take(
            bytes.span.extracting(taken..<bytes.count), through: admission, answerLimit: answerRoom, turn: &turn)
        turn.note(bytes: done)
        taken += done
        if taken == pending.count {
            pending = []
            taken = 0
        }
        noteProgress()
    }

    private var answerRoom: Int { max(1, admission.limits.maximumUnreadAnswers - transport.unsent) }

    // MARK: Out

    /// Sends pending answers until the socket is full.
    private func flush() {
        let answers = stream.takeAnswers()
        if answers != nil { beginAnswer() }
        if !isGone, !transport.send(answers) { peerIsGone() }
    }

    /// The client no longer reads answers. Its unread input is still processed: it may have sent events without
    /// expecting an answer.
    func peerIsGone() {
        isGone = true
        transport.canRead = true
        stream.stopAnswering()
        transport.discardOutput()
    }

    // MARK: Limits

    private func rateLimitDebt(at now: Instant) -> Duration? {
        guard let limiter = listener.limiter, stream.isSlowedDown, !stream.isStalled else { return nil }
        return limiter.wait(limiter.key(user: user, connection: id), at: now)
    }

    /// How long the client must wait before more of its events are taken; nil: it need not.
    private func rateLimitWait(at now: Instant) -> Duration? {
        guard let limiter = listener.limiter, !mayBeHTTP, let wait = rateLimitDebt(at: now) else { return nil }
        let rate = limiter.limit.eventsPerSecond
        listener.notices.note(
            .rateLimit, "\(user) sends more than \(rate) events per second, so its connections are read more slowly")
        return wait
    }

    /// How long the client must wait until memory is free; nil: it need not. Otherwise clients could send faster than
    /// connections are closed for them.
    private var closingWait: Duration? {
        guard listener.statistics.closingBytes > admission.limits.maximumBuffered / Self.closingShare,
            !stream.isStalled, !inputEnded, !conduct.isTrusted || isInTheMiddle
        else { return nil }
        return Self.closingPause
    }

    /// Ends the connection because a limit took effect. Earlier lines are settled, the client is sent the reason, and
    /// then the connection is closed.
    func end(_ limit: ClientLimit, _ reason: RefusalReason, _ detail: String, at now: Instant) {
        guard isOpen else { return }
        if stream.hasEnded {
            // It waits for its client to read the last answers.
            if limit == .maximumBuffered { close() }
            return
        }
        listener.notices.note(limit, "the connection of \(user) is closed: \(detail)")
        pending = []
        taken = 0
        stream.end(Refusal(reason: reason, detail: detail), through: admission)
        endedSince = now
        guard limit == .maximumBuffered else { return }
        // `UserConnections` no longer counts this connection, so it must not keep unread answers in memory.
        if transport.unsent > 0 { return close() }
        listener.statistics.withUserConnections { $0.leave(id) }
    }

    /// The client has begun something that it must finish in time.
    var isInTheMiddle: Bool { stream.hasUnfinishedLine || transport.isHandshaking }

    /// Everything that the client sent has been read, processed and answered. Events that it expects no answer for may
    /// not be durable yet: a commit gives it no turn.
    var isIdle: Bool {
        !transport.canRead && !isInTheMiddle && !stream.isStalled && !stream.hasDeferred && !stream.isWaitingForDisk
            && taken == pending.count && transport.unsent == 0
    }

    /// Called with the connection of the same source that must be closed.
    var onTooMuchBuffered: ((_ connection: UInt64, _ bytes: Int) -> Void)?

    // MARK: End

    func close() {
        guard isOpen else { return }
        // First: from here on, the next process does not go on with it.
        slot?.release()
        if slot != nil { transport.endConnection() }
        transport.close(discardingInput: !isGone && !inputEnded && stream.wantsAnswers)
        listener.statistics.withUserConnections { $0.leave(id) }
        listener.statistics.disconnect()
        listener.descriptors.leave()
    }
}
