import Events
import Platform
import Synchronization

/// One client of a stream socket, on its event loop. Moves bytes between the socket and its NDJSON stream, one turn at
/// a time.
///
/// - A turn reads once and processes as much as its budget allows. The rest stays here, and nothing more is read until
///   it is processed.
/// - Unread bytes stay in the kernel, whose full buffer makes the client wait.
final class ClientConnection {
    /// The state of a connection after its turn.
    enum Outcome {
        /// More work is ready: it needs another turn, after the other connections have had theirs.
        case more
        /// It waits for its client or for a commit.
        case waits
        /// The journal had no room.
        case stalled
        /// It has input, but must wait for connections that stalled before it.
        case parked
        case closed
    }

    /// Bytes read per turn: `largeRead` for a trusted client, `smallRead` for any other.
    static let largeRead = 256 << 10
    static let smallRead = 16 << 10
    /// How many unread bytes of a disconnected client are read and discarded. The kernel resets a connection that is
    /// closed with unread bytes, and the client could then not read its last answers.
    private static let discarded = 512 << 10
    /// Sent answers are removed from `output` once they are this many bytes and at least half of it.
    private static let sentKept = 64 << 10

    let id: UInt64
    let user: UInt32
    let listener: SourceListener
    private let admission: EventAdmission
    private var socket: FileDescriptor?
    private var stream: NDJSONStream
    /// Input that was read; the part from `taken` on is not processed yet.
    private var pending: [UInt8] = []
    private var taken = 0
    /// Answers; the part before `sent` has been sent.
    private var output: [UInt8] = []
    private var sent = 0

    private var canRead = true
    private var canWrite = true
    /// The kernel has reported that the peer writes no more. Unread bytes may remain.
    private var hasPeerEnded = false
    private var isGone = false
    private var inputEnded = false
    private var isFinished = false
    /// Whether it is queued for a turn.
    var isQueued = false
    /// Set by the loop. Stalled: it waits for room in the journal. Parked: it waits behind stalled connections.
    var isStalledInLoop = false
    var isParked = false
    /// A newer connection takes its place, or the client was silent for too long. It is closed once everything that the
    /// client sent is processed.
    private var isLeaving = false
    /// Whether its recent turns brought events and hardly any refused lines.
    private(set) var isTrusted = false
    /// Whether most lines of its last turn were refused.
    private(set) var isSuspect = false
    /// The journal position that the loop has noted for its latest unacknowledged lines.
    var notedEnd: UInt64 = 0
    private(set) var lastByte: Instant
    private var lineSince: Instant
    private var lineNumber: UInt64 = 0
    private var hadLine = false
    private var endedSince: Instant?
    private var wasCounted = (bytes: 0, at: Instant(nanoseconds: 0), isIdle: true)

    init(
        id: UInt64, socket: consuming FileDescriptor, origin: Origin, listener: SourceListener,
        admission: EventAdmission,
        at now: Instant
    ) {
        self.id = id
        self.socket = consume socket
        user = origin.uid
        self.listener = listener
        self.admission = admission
        stream = NDJSONStream(origin: origin)
        lastByte = now
        lineSince = now
    }

    deinit { close() }

    var isOpen: Bool { socket != nil }
    /// The journal position that its acknowledgement waits for.
    var awaitedEnd: UInt64? { stream.isWaitingForDisk ? stream.awaitedEnd : nil }

    func register(with poll: SocketPoll) throws(SystemError) {
        if socket != nil { try poll.add(socket!, tag: id) }
    }

    /// Records a readiness report from the kernel.
    func ready(_ readiness: SocketPoll.Readiness) {
        canRead = canRead || readiness.canRead
        canWrite = canWrite || readiness.canWrite
        hasPeerEnded = hasPeerEnded || readiness.hasEnded
        if readiness.isGone { peerIsGone() }
    }

    func durable(upTo position: UInt64) { stream.durable(upTo: position) }

    // MARK: A turn

    /// - Parameters:
    ///   - buffer: the loop's read buffer.
    ///   - mayTake: true if no connection of this loop waits for room in the journal, or if this one does.
    func serve(_ buffer: inout [UInt8], at now: Instant, mayTake: Bool) -> Outcome {
        guard socket != nil else { return .closed }
        var turn = TurnBudget(startingAt: now)
        flush()
        var wantsMore = false
        if hasWork {
            guard mayTake else {
                reportUsage(at: now)
                return .parked
            }
            if stream.isStalled || taken < pending.count {
                takePending(&turn)
            } else if canRead && !inputEnded && !stream.hasEnded {
                read(&buffer, at: now, &turn)
            }
            if inputEnded && taken == pending.count && !stream.isStalled && !isFinished {
                isFinished = true
                stream.finish(through: admission)
            }
            flush()
            wantsMore = hasWork
            judge(turn)
        }
        if stream.hasTooManyRefusals, endedSince == nil { noteTooManyRefusals() }
        if stream.hasEnded || isFinished, endedSince == nil { endedSince = now }
        return outcome(wantsMore: wantsMore, at: now)
    }

    /// Whether there is input to process or to read, and the client reads its answers.
    private var hasWork: Bool {
        // Other connections wait behind a stalled one, so it retries even if its client does not read answers.
        if stream.isStalled { return true }
        guard unsent < admission.limits.maximumUnreadAnswers else { return false }
        if inputEnded && !isFinished { return true }
        return !stream.hasEnded && (taken < pending.count || (canRead && !inputEnded))
    }

    private var unsent: Int { output.count - sent }

    private func outcome(wantsMore: Bool, at now: Instant) -> Outcome {
        if stream.hasEnded || isFinished || (isGone && inputEnded) {
            let isSettled = !stream.isStalled && !stream.isWaitingForDisk && (stream.hasEnded || taken == pending.count)
            if isSettled && (unsent == 0 || isGone) && (isFinished || stream.hasEnded) {
                close()
                return .closed
            }
        }
        reportUsage(at: now)
        if isLeaving, isIdle {
            close()
            return .closed
        }
        if stream.isStalled { return .stalled }
        return wantsMore ? .more : .waits
    }

    private func judge(_ turn: TurnBudget) {
        let refused = TurnBudget.refusals - turn.refusalsLeft
        guard turn.accepted + refused > 0 else { return }
        isSuspect = refused > turn.accepted
        isTrusted = refused == 0 || (isTrusted && !isSuspect)
    }

    // MARK: In

    private func read(_ buffer: inout [UInt8], at now: Instant, _ turn: inout TurnBudget) {
        let limit = isTrusted ? Self.largeRead : Self.smallRead
        switch socket!.receive(into: &buffer, limit: limit) {
        case .bytes(let count):
            // A short read means that the socket is empty. New bytes are reported again, but an end that was already
            // reported is not.
            canRead = count == limit || hasPeerEnded
            lastByte = now
            let bytes = buffer.span.extracting(first: count)
            let done = stream.take(bytes, through: admission, answerLimit: answerRoom, turn: &turn)
            if done < count {
                pending = Array(buffer[done..<count])
                taken = 0
            }
        case .nothing:
            canRead = false
        case .end:
            inputEnded = true
        case .gone:
            inputEnded = true
            peerIsGone()
        }
    }

    private func takePending(_ turn: inout TurnBudget) {
        let bytes = pending
        taken += stream.take(
            bytes.span.extracting(taken..<bytes.count), through: admission, answerLimit: answerRoom, turn: &turn)
        if taken == pending.count {
            pending = []
            taken = 0
        }
    }

    private var answerRoom: Int { max(1, admission.limits.maximumUnreadAnswers - unsent) }

    // MARK: Out

    /// Sends pending answers until the socket is full.
    private func flush() {
        if let answers = stream.takeAnswers() { output += answers }
        while canWrite, !isGone, unsent > 0 {
            let bytes = output
            switch socket!.transmit(bytes.span.extracting(sent..<bytes.count)) {
            case .bytes(0): canWrite = false
            case .bytes(let count): sent += count
            case .gone: peerIsGone()
            }
        }
        if unsent == 0 {
            if output.capacity > 4096 { output = [] } else { output.removeAll(keepingCapacity: true) }
            sent = 0
        } else if sent >= Self.sentKept, sent >= unsent {
            // A client that never catches up offers no better moment to compact the buffer.
            output.removeFirst(sent)
            sent = 0
        }
    }

    /// The client no longer reads answers. Its unread input is still processed: it may have sent events without
    /// expecting an answer.
    private func peerIsGone() {
        isGone = true
        canRead = true
        stream.stopAnswering()
        output = []
        sent = 0
    }

    // MARK: Limits

    /// Closes an idle connection, to make room for another one or because of its silence. Anything that the client has
    /// sent since it was chosen is processed first.
    func leave() {
        isLeaving = true
        canRead = true
    }

    /// Ends the connection because a limit took effect. Earlier lines are settled, the client is sent the reason, and
    /// then the connection is closed.
    func end(_ limit: ClientLimit, _ reason: RefusalReason, _ detail: String, at now: Instant) {
        guard socket != nil, !stream.hasEnded else { return }
        listener.notices.note(limit, "the connection of user \(user) is closed: \(detail)")
        pending = []
        taken = 0
        stream.end(Refusal(reason: reason, detail: detail), through: admission)
        endedSince = now
        // `UserConnections` has already dropped this connection, so it must not keep unread answers in memory.
        if limit == .maximumBuffered, unsent > 0 { close() }
    }

    private func noteTooManyRefusals() {
        listener.notices.note(
            .maximumConsecutiveRefusals,
            "the connection of user \(user) is closed: "
                + "\(admission.limits.maximumConsecutiveRefusals) of its lines in a row were refused"
        )
        pending = []
        taken = 0
    }

    /// Checks the client's time limits. Called about once a second.
    /// - Returns: whether the connection needs a turn now.
    func check(at now: Instant) -> Bool {
        guard socket != nil else { return false }
        let limits = admission.limits
        if let endedSince {
            if stream.isWaitingForDisk || stream.isStalled {
                self.endedSince = now
                return false
            }
            // The client does not read its last answers.
            guard now - endedSince >= limits.lineTimeout else { return false }
            peerIsGone()
            return true
        }
        // Time counts against the client only if everything that it sent has been read and processed.
        guard !canRead, !isQueued, !stream.isStalled, taken == pending.count, unsent == 0 else { return false }
        if stream.hasUnfinishedLine {
            guard now - lineSince >= limits.lineTimeout else { return false }
            end(
                .lineTimeout, .lineTimeout,
                "a line was not finished within \(Readable.duration(limits.lineTimeout)) (line_timeout);"
                    + " send each event as one line",
                at: now)
            return true
        }
        if let timeout = limits.idleTimeout, now - lastByte >= timeout, !stream.isWaitingForDisk {
            listener.notices.note(
                .idleTimeout,
                "the connection of user \(user) is closed:"
                    + " it sent nothing for \(Readable.duration(timeout)) (idle_timeout)"
            )
            // It may have sent something just now.
            leave()
            return true
        }
        return false
    }

    /// Reports this connection's buffered bytes and activity to the source's `UserConnections` if they have changed.
    /// If the source now buffers too much, reports the connection that must be closed.
    private func reportUsage(at now: Instant) {
        let (number, hasLine) = (stream.linesEnded, stream.hasUnfinishedLine)
        if number != lineNumber || !hasLine || !hadLine { lineSince = now }
        (lineNumber, hadLine) = (number, hasLine)
        let isIdle = isIdle
        let bytes = stream.heldBytes + pending.capacity + output.capacity
        let hasChanged =
            bytes != wasCounted.bytes || isIdle != wasCounted.isIdle
            || lastByte - wasCounted.at >= UserConnections.idleEnough / 4
        guard hasChanged else { return }
        wasCounted = (bytes, lastByte, isIdle)
        let limit = admission.limits.maximumBuffered
        let victim = listener.statistics.userConnections.withLock {
            $0.note(id, bytes: bytes, lastByte: lastByte, isIdle: isIdle, limit: limit)
        }
        if let victim { onTooMuchBuffered?(victim.victim, victim.bytes) }
    }

    /// Everything that the client sent has been read, processed and answered.
    private var isIdle: Bool {
        !canRead && !stream.hasUnfinishedLine && !stream.isStalled && !stream.isWaitingForDisk && taken == pending.count
            && unsent == 0
    }

    /// Called with the connection of the same source that must be closed.
    var onTooMuchBuffered: ((_ connection: UInt64, _ bytes: Int) -> Void)?

    // MARK: End

    func close() {
        guard socket != nil else { return }
        if !isGone, !inputEnded, stream.wantsAnswers { discardInput() }
        socket = nil
        listener.statistics.userConnections.withLock { $0.leave(id) }
        listener.statistics.disconnect()
        listener.descriptors.leave()
    }

    private func discardInput() {
        socket!.stopReceiving()
        var rest = [UInt8](repeating: 0, count: 64 << 10)
        for _ in 0..<(Self.discarded / rest.count) {
            guard case .bytes = socket!.receive(into: &rest, limit: rest.count) else { return }
        }
    }
}
