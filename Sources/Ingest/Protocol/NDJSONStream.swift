import Events

/// One client's NDJSON stream: bytes in; events to the journal and answers out. Pure except for the appender. It does
/// not know sockets, so tests and simulations can feed it directly.
///
/// - One event per line. A line that is not an event is refused; its neighbours are still accepted.
/// - The first line may be a control line, `{"penstock":{"acks":true}}`. Without it, no answer is ever sent.
/// - It never reads ahead of the journal. When the journal is busy, `take` stops; the next call continues at the same
///   byte.
/// - One call processes what the turn's budget allows (`TurnBudget`) and leaves the rest for the next call.
/// - A client is disconnected when too many of its lines in a row are refused. The slice in which that happens is
///   processed completely; later input is not read.
/// - Memory: one unfinished line (bounded by the largest event) and the answers to one slice.
package final class NDJSONStream {
    private enum State {
        /// Before the first line feed: this line may be a control line.
        case firstLine
        case lines
        /// Inside a line that is too large and was refused already.
        case skippingLine
        /// The client is being disconnected: nothing more is read.
        case ended
    }

    /// A scanned slice that the journal had no room for.
    private struct Stalled {
        var inCarry: Bool
        var scan: ScanResult
        var accepted: [ScannedEvent]
        var refused: [RefusedLine]
        var rewritten: [UInt8]?
    }

    /// Bytes that are scanned and offered at once. Bounds what the journal's queue must take in one step.
    static let slice = 64 << 10
    /// The slice size for a client that gets answers. Bounds the size of the answers if every line is refused.
    static let sliceWithAnswers = 32 << 10
    /// The slice size if a tracking plan or a scrub makes each event slow.
    static let slowSlice = 16 << 10
    /// White space around an event that does not count towards its size.
    static let whiteSpaceAllowance = 1 << 10

    private let origin: Origin
    private var state = State.firstLine
    private(set) var carry: [UInt8] = []
    /// Keeps the state of the client beyond the process; nil: nothing does.
    private let slot: ClientSlot?
    private var stalled: Stalled?
    private(set) var wantsAnswers = false
    private(set) var ledger = AcknowledgementLedger()
    /// Refusals and acknowledgements that the caller has not taken yet.
    private var answers: [UInt8] = []
    /// Refused lines since the last accepted one.
    private var refusalsInARow = 0
    /// The last answer. It is sent once all earlier lines are settled.
    private var finalRefusal: (refusal: Refusal, line: UInt64)?

    package init(origin: Origin) {
        self.origin = origin
        slot = nil
    }

    /// - Parameter slot: tells where the stream of an earlier process goes on.
    init(origin: Origin, slot: ClientSlot?) {
        self.origin = origin
        self.slot = slot
        guard let record = slot?.record else { return }
        let (left, isCut) = (record.settledState, record.isCut)
        guard record.restart > 0 || isCut else { return }
        state = left.isInLongLine || isCut ? .skippingLine : .lines
        wantsAnswers = left.wantsAnswers
        ledger = AcknowledgementLedger(lines: left.lines, acknowledged: record.answered)
    }

    var isInLongLine: Bool { state == .skippingLine }

    /// Whether the journal had no room for the last slice.
    package var isStalled: Bool { stalled != nil }
    /// Whether the client must be disconnected once its answers are sent.
    package var hasEnded: Bool { state == .ended }
    /// Whether it is disconnected because too many of its lines in a row were refused.
    private(set) var hasTooManyRefusals = false
    package var isWaitingForDisk: Bool { wantsAnswers && ledger.waits }
    /// The journal position that the client's last acknowledgement waits for.
    var awaitedEnd: UInt64? { ledger.awaitedEnd }
    /// Whether the input so far ends in the middle of a line.
    var hasUnfinishedLine: Bool { !isStalled && (!carry.isEmpty || state == .skippingLine) }
    /// Grows with every finished line.
    var linesEnded: UInt64 { ledger.lines &+ (state == .firstLine ? 0 : 1) }
    /// Bytes of memory that this client uses in addition to the fixed cost of every client.
    var heldBytes: Int { carry.capacity + answers.count }

    /// Processes as much of `bytes` as the journal and the turn allow.
    /// - Returns: how many bytes were processed. Fewer than `bytes.count` in three cases: the journal is busy
    ///   (`isStalled`; call again with the rest once it has room), `answerLimit` is reached (call again once the
    ///   answers are taken), or the turn is over.
    package func take(
        _ bytes: Span<UInt8>, through admission: EventAdmission, answerLimit: Int, turn: inout TurnBudget
    ) -> Int {
        var at = 0
        if stalled != nil {
            guard resume(bytes, through: admission, &turn, advancing: &at) else { return at }
        }
        while at < bytes.count, answers.count < answerLimit, !turn.isSpent, slot?.record.hasRoom ?? true {
            switch state {
            case .ended:
                return bytes.count
            case .skippingLine:
                guard let feed = bytes.firstLineFeed(from: at) else { return bytes.count }
                at = feed + 1
                state = .lines
            case .firstLine, .lines:
                if state == .lines && carry.isEmpty {
                    guard scan(bytes, through: admission, &turn, advancing: &at) else { return at }
                } else {
                    guard finishLine(bytes, through: admission, &turn, advancing: &at) else { return at }
                }
            }
        }
        return at
    }

    /// Processes `bytes` in a turn without limits.
    package func take(_ bytes: Span<UInt8>, through admission: EventAdmission, answerLimit: Int) -> Int {
        var turn = TurnBudget.unlimited
        return take(bytes, through: admission, answerLimit: answerLimit, turn: &turn)
    }

    /// The client has finished sending. A last line without its line feed counts if it is complete.
    package func finish(through admission: EventAdmission) {
        guard stalled == nil, !carry.isEmpty, state == .lines || state == .firstLine else { return }
        carry.append(UInt8(ascii: "\n"))
        endFirstLine(through: admission)
        var turn = TurnBudget.unlimited
        if !carry.isEmpty { _ = scanCarry(through: admission, &turn, upTo: 0) }
    }

    /// Disconnects the client. Lines that were already accepted or refused stay so. An unfinished line, and lines for
    /// which the journal had no room, are refused for the same reason.
    package func end(_ refusal: Refusal, through admission: EventAdmission) {
        guard state != .ended else { return }
        if let stalled {
            for _ in 0..<(stalled.accepted.count + stalled.refused.count) { admission.refuse(refusal) }
            self.stalled = nil
        } else if hasUnfinishedLine {
            admission.refuse(refusal)
        }
        endAfterLines(refusal)
    }

    /// The peer is gone: no more answers are prepared.
    package func stopAnswering() {
        wantsAnswers = false
        answers = []
        finalRefusal = nil
    }

    private func endAfterLines(_ refusal: Refusal, line: UInt64? = nil) {
        carry = []
        state = .ended
        finalRefusal = (refusal, line ?? ledger.lines + 1)
    }

    /// Records that the journal is durable up to `position`.
    package func durable(upTo position: UInt64) {
        ledger.durable(upTo: position)
    }

    /// The answers to send now, including a new acknowledgement if there is one.
    package func takeAnswers() -> [UInt8]? {
        guard wantsAnswers else { return nil }
        if let lines = ledger.takeAcknowledgement() { Answer.acknowledge(lines, to: &answers) }
        if let last = finalRefusal, !ledger.waits {
            Answer.refuse(last.refusal, line: last.line, to: &answers)
            finalRefusal = nil
        }
        guard !answers.isEmpty else { return nil }
        defer { answers = [] }
        return answers
    }

    // MARK: Lines

    /// Extends the unfinished line and processes it once it is complete. Returns false if the journal is busy.
    private func finishLine(
        _ bytes: Span<UInt8>, through admission: EventAdmission, _ turn: inout TurnBudget, advancing at: inout Int
    ) -> Bool {
        let feed = bytes.firstLineFeed(from: at)
        let end = feed.map { $0 + 1 } ?? bytes.count
        let limit = admission.maximumEventSize + Self.whiteSpaceAllowance
        if carry.count + (end - at) > limit {
            state = .skippingLine
            refuseCarry(through: admission, &turn)
            return true
        }
        carry.append(contentsOf: bytes.extracting(at..<end))
        at = end
        guard feed != nil else { return true }
        endFirstLine(through: admission)
        return carry.isEmpty || scanCarry(through: admission, &turn, upTo: at)
    }

    private func endFirstLine(through admission: EventAdmission) {
        guard state == .firstLine else { return }
        state = .lines
        switch ControlLine(carry.span) {
        case .none: break
        case .acks(let on):
            wantsAnswers = on
            carry.removeAll(keepingCapacity: true)
        case .malformed(let detail):
            let refusal = Refusal(reason: .invalidJSON, detail: detail)
            admission.refuse(refusal)
            // A client that sends a control line reads answers.
            wantsAnswers = true
            endAfterLines(refusal, line: 0)
        }
    }

    private func refuseCarry(through admission: EventAdmission, _ turn: inout TurnBudget) {
        let refusal = Refusal.tooLarge(maximum: admission.maximumEventSize)
        admission.refuse(refusal)
        ledger.add(lines: 1, queuedUpTo: nil)
        if wantsAnswers { Answer.refuse(refusal, line: ledger.lines, to: &answers) }
        carry = []
        turn.spend(accepted: 0, refused: 1, at: admission.now())
        refusalsInARow += 1
        endIfRefusedTooOften(by: admission)
    }

    /// Counts consecutive refused lines across slices.
    private func countRefusals(of admission: EventAdmission) {
        let limit = admission.limits.maximumConsecutiveRefusals
        var accepted = 0
        for refused in admission.refused {
            // A full journal is not the client's fault.
            guard refused.reason != .journalFull else { continue }
            if accepted < admission.accepted.count, Int(admission.accepted[accepted].line) < refused.line {
                refusalsInARow = 0
                while accepted < admission.accepted.count, Int(admission.accepted[accepted].line) < refused.line {
                    accepted += 1
                }
            }
            refusalsInARow += 1
            if refusalsInARow >= limit { break }
        }
        if refusalsInARow < limit, accepted < admission.accepted.count { refusalsInARow = 0 }
        endIfRefusedTooOften(by: admission)
    }

    private func endIfRefusedTooOften(by admission: EventAdmission) {
        let limit = admission.limits.maximumConsecutiveRefusals
        guard refusalsInARow >= limit, state != .ended else { return }
        hasTooManyRefusals = true
        endAfterLines(
            Refusal(
                reason: .maximumConsecutiveRefusals,
                detail: """
                    \(limit) line\(limit == 1 ? "" : "s") in a row were refused, so the connection is closed and later \
                    lines are not read; correct the events, or raise max_consecutive_refusals of this source
                    """))
    }

    // MARK: Scanning

    /// - Parameter place: the end of the line in the input.
    private func scanCarry(
        through admission: EventAdmission, _ turn: inout TurnBudget, upTo place: Int
    ) -> Bool {
        let scan = admission.scan(carry.span, maximumRefused: .max)
        guard offerCarry(scan, through: admission, &turn, upTo: place) else {
            stall(scan, inCarry: true, of: admission)
            return false
        }
        return true
    }

    /// Offers the completed line. Once it is accepted, `carry` is empty again and keeps little memory.
    private func offerCarry(
        _ scan: ScanResult, through admission: EventAdmission, _ turn: inout TurnBudget, upTo place: Int
    ) -> Bool {
        var line: [UInt8] = []
        swap(&line, &carry)
        let taken = offer(line.span, scan, through: admission, &turn, upTo: place)
        if taken {
            if line.capacity > 4096 { line = [] } else { line.removeAll(keepingCapacity: true) }
        }
        carry = line
        return taken
    }

    private func scan(
        _ bytes: Span<UInt8>, through admission: EventAdmission, _ turn: inout TurnBudget, advancing at: inout Int
    ) -> Bool {
        let rest = bytes.extracting(at..<bytes.count)
        var slice = rest.extracting(
            first: admission.isSlow ? Self.slowSlice : wantsAnswers ? Self.sliceWithAnswers : Self.slice)
        let refusals = min(turn.refusalsLeft, admission.limits.maximumConsecutiveRefusals - refusalsInARow)
        var scan = admission.scan(slice, maximumRefused: refusals)
        if scan.consumed == 0 && slice.count < rest.count {
            slice = rest
            scan = admission.scan(slice, maximumRefused: refusals)
        }
        if scan.consumed == 0 {
            // No line ends in this input: it is the beginning of one.
            return finishLine(bytes, through: admission, &turn, advancing: &at)
        }
        guard offer(slice, scan, through: admission, &turn, upTo: at + scan.consumed) else {
            stall(scan, inCarry: false, of: admission)
            return false
        }
        at += scan.consumed
        return true
    }

    private func stall(_ scan: ScanResult, inCarry: Bool, of admission: EventAdmission) {
        stalled = Stalled(
            inCarry: inCarry, scan: scan, accepted: admission.accepted, refused: admission.refused,
            rewritten: admission.rewritten)
    }

    /// Offers the stalled slice again. Returns false if the journal still has no room.
    private func resume(
        _ bytes: Span<UInt8>, through admission: EventAdmission, _ turn: inout TurnBudget, advancing at: inout Int
    ) -> Bool {
        guard let stalled else { return true }
        admission.accepted = stalled.accepted
        admission.refused = stalled.refused
        admission.rewritten = stalled.rewritten
        if stalled.inCarry {
            guard offerCarry(stalled.scan, through: admission, &turn, upTo: 0) else { return false }
        } else {
            guard offer(bytes, stalled.scan, through: admission, &turn, upTo: stalled.scan.consumed) else {
                return false
            }
            at += stalled.scan.consumed
        }
        self.stalled = nil
        return true
    }

    /// - Parameter place: the end of the slice in the input.
    ///
    /// Hands a scanned slice to the journal and answers its refused lines. Returns false if the journal is busy; then
    /// nothing was taken or answered.
    private func offer(
        _ bytes: Span<UInt8>, _ scan: ScanResult, through admission: EventAdmission, _ turn: inout TurnBudget,
        upTo place: Int
    ) -> Bool {
        var end: UInt64?
        if !admission.accepted.isEmpty {
            slot?.intend(
                upTo: place,
                ClientRecord.State(lines: ledger.lines + UInt64(scan.lines), wantsAnswers: wantsAnswers))
            switch admission.append(bytes, from: origin, witness: slot) {
            case .busy:
                return false
            case .queued(let position):
                end = position
            case .refused(let refusal):
                for event in admission.accepted {
                    admission.refused.append(RefusedLine(line: Int(event.line), refusal: refusal))
                }
                admission.refused.sort { $0.line < $1.line }
                admission.accepted.removeAll(keepingCapacity: true)
            }
        }
        let first = ledger.lines
        ledger.add(lines: scan.lines, queuedUpTo: wantsAnswers ? end : nil)
        if !admission.refused.isEmpty {
            admission.settleRefused(bytes)
            if wantsAnswers {
                for refused in admission.refused {
                    Answer.refuse(
                        admission.explain(refused, in: bytes), line: first + UInt64(refused.line) + 1, to: &answers)
                }
            }
        }
        countRefusals(of: admission)
        turn.spend(accepted: admission.accepted.count, refused: admission.refused.count, at: admission.now())
        return true
    }
}

extension Span<UInt8> {
    fileprivate func firstLineFeed(from start: Int) -> Int? {
        var at = start
        while at < count {
            if self[at] == UInt8(ascii: "\n") { return at }
            at += 1
        }
        return nil
    }
}
