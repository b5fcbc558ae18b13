import Events
import Platform
import Synchronization

/// One client of a stream socket, on its event loop: moves bytes between the socket and its stream, a turn at a time.
///
/// - A turn reads once, and takes what a turn may. What was read and not taken stays here; nothing more is read until it is.
/// - What is not read yet lies in the kernel, which makes the client wait.
final class ClientConnection {
    /// What is to become of a connection after its turn.
    enum Outcome {
        /// There is more to do at once: another turn, after the others'.
        case more
        /// It waits for its client, or for its acknowledgement.
        case waits
        /// The journal had no room.
        case stalled
        /// It wants to read, and may not for the time.
        case parked
        case closed
    }

    /// Bytes that a turn reads: of a client that is known to send events, and of any other.
    static let largeRead = 256 << 10
    static let smallRead = 16 << 10
    /// Bytes of a client that is let go which are read and thrown away, so that it can read its answers to their end: the
    /// kernel resets a connection that is closed with bytes unread.
    private static let discarded = 512 << 10
    /// Bytes of answers that were sent and are removed when as many are left.
    private static let sentKept = 64 << 10

    let id: UInt64
    let user: UInt32
    let listener: SourceListener
    private let door: SourceDoor
    private var socket: FileDescriptor?
    private var stream: NDJSONStream
    /// Read, and not taken yet, from `taken` on.
    private var pending: [UInt8] = []
    private var taken = 0
    /// Answers, sent up to `sent`.
    private var output: [UInt8] = []
    private var sent = 0

    private var canRead = true
    private var canWrite = true
    /// The kernel has said that the peer writes no more; what it wrote may be unread.
    private var hasPeerEnded = false
    private var isGone = false
    private var inputEnded = false
    private var isFinished = false
    /// Whether it waits for a turn.
    var isQueued = false
    /// Whether it waits for room in the journal, in front of others or behind them. The loop's.
    var isStalledInLoop = false
    var isParked = false
    /// Another connection has taken its place: it is closed when everything that it has sent is taken.
    private var isLeaving = false
    /// Whether its last turns brought events, and mostly good ones.
    private(set) var isTrusted = false
    /// Whether its last turn brought mostly refused lines.
    private(set) var isSuspect = false
    /// The journal position that its latest wait is noted with.
    var notedEnd: UInt64 = 0
    private(set) var lastByte: Instant
    private var lineSince: Instant
    private var lineNumber: UInt64 = 0
    private var hadLine = false
    private var endedSince: Instant?
    private var wasCounted = (bytes: 0, at: Instant(nanoseconds: 0), isIdle: true)

    init(id: UInt64, socket: consuming FileDescriptor, origin: Origin, listener: SourceListener, door: SourceDoor, at now: Instant) {
        self.id = id
        self.socket = consume socket
        user = origin.uid
        self.listener = listener
        self.door = door
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

    /// Notes what the kernel reported.
    func ready(_ readiness: SocketPoll.Readiness) {
        canRead = canRead || readiness.canRead
        canWrite = canWrite || readiness.canWrite
        hasPeerEnded = hasPeerEnded || readiness.hasEnded
        if readiness.isGone { peerIsGone() }
    }

    func durable(upTo position: UInt64) { stream.durable(upTo: position) }

    // MARK: A turn

    /// - Parameters:
    ///   - buffer: the loop's, for what is read.
    ///   - mayTake: nobody on this loop waits for room in the journal, or this one does.
    func serve(_ buffer: inout [UInt8], at now: Instant, mayTake: Bool) -> Outcome {
        guard socket != nil else { return .closed }
        var turn = TurnBudget(startingAt: now)
        flush()
        var wantsMore = false
        if hasWork {
            guard mayTake else {
                account(at: now)
                return .parked
            }
            if stream.isStalled || taken < pending.count {
                takePending(&turn)
            } else if canRead && !inputEnded && !stream.hasEnded {
                read(&buffer, at: now, &turn)
            }
            if inputEnded && taken == pending.count && !stream.isStalled && !isFinished {
                isFinished = true
                stream.finish(at: door)
            }
            flush()
            wantsMore = hasWork
            judge(turn)
        }
        if stream.hasTooManyRefusals, endedSince == nil { noteTooManyRefusals() }
        if stream.hasEnded || isFinished, endedSince == nil { endedSince = now }
        return outcome(wantsMore: wantsMore, at: now)
    }

    /// Whether there is something to take or to read, and the client reads its answers.
    private var hasWork: Bool {
        // Others wait behind one that found no room, so it tries whether or not its client reads.
        if stream.isStalled { return true }
        guard unsent < door.limits.maximumUnreadAnswers else { return false }
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
        account(at: now)
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
            // Less than asked for is all that there was. A new byte is reported again; an end that was reported is not.
            canRead = count == limit || hasPeerEnded
            lastByte = now
            let bytes = buffer.span.extracting(first: count)
            let done = stream.take(bytes, at: door, answerLimit: answerRoom, turn: &turn)
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
        taken += stream.take(bytes.span.extracting(taken..<bytes.count), at: door, answerLimit: answerRoom, turn: &turn)
        if taken == pending.count {
            pending = []
            taken = 0
        }
    }

    private var answerRoom: Int { max(1, door.limits.maximumUnreadAnswers - unsent) }

    // MARK: Out

    /// Sends what there is to send, as far as the client takes it.
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
            // A client that never catches up leaves no other moment for it.
            output.removeFirst(sent)
            sent = 0
        }
    }

    /// Nobody reads answers any more. What the client sent before it went is still taken: it may have been sent without a
    /// wish for an answer.
    private func peerIsGone() {
        isGone = true
        canRead = true
        stream.stopAnswering()
        output = []
        sent = 0
    }

    // MARK: Limits

    /// Another connection of the same user takes its place. It was idle when it was chosen; what it has sent since is taken.
    func leave() {
        isLeaving = true
        canRead = true
    }

    /// Ends the conversation for a limit: what was sent before is settled, the client gets the reason, and the connection is closed.
    func end(_ limit: ClientLimit, _ reason: RefusalReason, _ detail: String, at now: Instant) {
        guard socket != nil, !stream.hasEnded else { return }
        listener.notices.note(limit, "the connection of user \(user) is closed: \(detail)")
        pending = []
        taken = 0
        stream.end(Refusal(reason: reason, detail: detail), at: door)
        endedSince = now
        // It is counted no more, so it may not hold answers until somebody reads them.
        if limit == .maximumBuffered, unsent > 0 { close() }
    }

    private func noteTooManyRefusals() {
        listener.notices.note(
            .maximumConsecutiveRefusals,
            "the connection of user \(user) is closed: \(door.limits.maximumConsecutiveRefusals) of its lines in a row were refused")
        pending = []
        taken = 0
    }

    /// Looks whether the client has taken too long. About once a second.
    /// - Returns: whether it needs a turn now.
    func check(at now: Instant) -> Bool {
        guard socket != nil else { return false }
        let limits = door.limits
        if let endedSince {
            if stream.isWaitingForDisk || stream.isStalled {
                self.endedSince = now
                return false
            }
            // It does not read its last answers.
            guard now - endedSince >= limits.lineTimeout else { return false }
            peerIsGone()
            return true
        }
        // Only what the client is to blame for: everything that it sent has been read and taken.
        guard !canRead, !isQueued, !stream.isStalled, taken == pending.count, unsent == 0 else { return false }
        if stream.hasUnfinishedLine {
            guard now - lineSince >= limits.lineTimeout else { return false }
            end(
                .lineTimeout, .lineTimeout,
                "a line was not finished within \(limits.lineTimeout) (line_timeout); send each event whole", at: now)
            return true
        }
        if let timeout = limits.idleTimeout, now - lastByte >= timeout, !stream.isWaitingForDisk {
            listener.notices.note(.idleTimeout, "a connection of user \(user) is closed that sent nothing for \(timeout) (idle_timeout)")
            // It may have sent something this moment.
            leave()
            return true
        }
        return false
    }

    /// Notes for all connections of the source what this one holds, if that has changed, and asks who has to go if that is too
    /// much.
    private func account(at now: Instant) {
        let (number, hasLine) = (stream.linesEnded, stream.hasUnfinishedLine)
        if number != lineNumber || !hasLine || !hadLine { lineSince = now }
        (lineNumber, hadLine) = (number, hasLine)
        let isIdle = isIdle
        let bytes = stream.heldBytes + pending.capacity + output.capacity
        let isNews = bytes != wasCounted.bytes || isIdle != wasCounted.isIdle || lastByte - wasCounted.at >= Accounts.idleEnough / 4
        guard isNews else { return }
        wasCounted = (bytes, lastByte, isIdle)
        let limit = door.limits.maximumBuffered
        let victim = listener.statistics.accounts.withLock {
            $0.note(id, bytes: bytes, lastByte: lastByte, isIdle: isIdle, limit: limit)
        }
        if let victim { onTooMuchBuffered?(victim.victim, victim.bytes) }
    }

    /// Everything that it sent is read, taken and answered.
    private var isIdle: Bool {
        !canRead && !stream.hasUnfinishedLine && !stream.isStalled && !stream.isWaitingForDisk && taken == pending.count && unsent == 0
    }

    /// Called with a connection of the same source that has to be closed.
    var onTooMuchBuffered: ((_ connection: UInt64, _ bytes: Int) -> Void)?

    // MARK: End

    func close() {
        guard socket != nil else { return }
        if !isGone, !inputEnded, stream.wantsAnswers { discardInput() }
        socket = nil
        listener.statistics.accounts.withLock { $0.leave(id) }
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
