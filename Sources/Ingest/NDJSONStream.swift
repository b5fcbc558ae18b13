import Events

/// One client's NDJSON: bytes in; events to the journal, answers out. Pure but for the appender;
/// knows nothing of sockets, so that tests and a simulation can feed it.
///
/// - One event a line. A line that is no event is refused by itself; its neighbours are taken.
/// - The first line may be a control line, `{"penstock":{"acks":true}}`. Without it nothing is
///   ever answered.
/// - Nothing is read ahead of what the journal takes: when it is busy, `take` stops, and goes on
///   from the same byte when it is called again.
/// - Memory: one unfinished line (bounded by the largest event), and the answers of one slice.
package struct NDJSONStream {
    private enum State {
        /// Before the first line feed: it may end a control line.
        case firstLine
        case lines
        /// Within a line that is too large and refused already.
        case skippingLine
        /// After a control line that was not understood: nothing more is read.
        case refusedControl
    }

    /// A scanned slice that the journal had no room for.
    private struct Stalled {
        var inCarry: Bool
        var scan: ScanResult
        var accepted: [ScannedEvent]
        var refused: [ScannedRefusal]
        var rewritten: [UInt8]?
    }

    /// Bytes that are scanned and offered at once: it bounds what the journal's queue has to take.
    static let slice = 64 << 10
    /// The same for a client that gets answers: it bounds what one slice of nothing but refusals
    /// can answer.
    static let sliceWithAnswers = 32 << 10
    /// White space around an event that does not count towards its size.
    static let whiteSpaceAllowance = 1 << 10

    private let origin: Origin
    private var state = State.firstLine
    private var carry: [UInt8] = []
    private var stalled: Stalled?
    private(set) var wantsAnswers = false
    private(set) var ledger = AcknowledgementLedger()
    /// What is to be written to the client, refusals and acknowledgements; taken by the caller.
    private var answers: [UInt8] = []

    package init(origin: Origin) {
        self.origin = origin
    }

    /// Whether the journal had no room for what was read last.
    package var isStalled: Bool { stalled != nil }
    /// Whether the client broke the protocol and has to be let go, after the answers.
    package var isRefused: Bool { state == .refusedControl }
    package var isWaitingForDisk: Bool { wantsAnswers && ledger.waits }

    /// Takes as much of `bytes` as it can.
    /// - Returns: how many bytes are done with. Fewer than there are only if the journal is busy
    ///   (`isStalled`): call again with the rest when it has room; or if `answerLimit` is
    ///   reached: call again when the answers have been taken.
    package mutating func take(_ bytes: Span<UInt8>, at door: SourceDoor, answerLimit: Int) -> Int {
        var at = 0
        if stalled != nil {
            guard resume(bytes, at: door, advancing: &at) else { return at }
        }
        while at < bytes.count, answers.count < answerLimit {
            switch state {
            case .refusedControl:
                return bytes.count
            case .skippingLine:
                guard let feed = bytes.firstLineFeed(from: at) else { return bytes.count }
                at = feed + 1
                state = .lines
            case .firstLine, .lines:
                if state == .lines && carry.isEmpty {
                    guard scan(bytes, at: door, advancing: &at) else { return at }
                } else {
                    guard finishLine(bytes, at: door, advancing: &at) else { return at }
                }
            }
        }
        return at
    }

    /// The client sends no more. A last line without its line feed counts, if it is whole.
    package mutating func finish(at door: SourceDoor) {
        guard stalled == nil, !carry.isEmpty, state == .lines || state == .firstLine else { return }
        carry.append(UInt8(ascii: "\n"))
        endFirstLine(at: door)
        if !carry.isEmpty { _ = scanCarry(at: door) }
    }

    /// Notes that the journal is durable up to `position`.
    package mutating func durable(upTo position: UInt64) {
        ledger.durable(upTo: position)
    }

    /// What is to be sent now, an acknowledgement included if there is a new one.
    package mutating func takeAnswers() -> [UInt8]? {
        guard wantsAnswers || isRefused else { return nil }
        if let lines = ledger.takeAcknowledgement() { Answer.acknowledge(lines, to: &answers) }
        guard !answers.isEmpty else { return nil }
        defer { answers = [] }
        return answers
    }

    // MARK: Lines

    /// Adds to the unfinished line; takes it once it ends. False: the journal is busy.
    private mutating func finishLine(_ bytes: Span<UInt8>, at door: SourceDoor, advancing at: inout Int) -> Bool {
        let feed = bytes.firstLineFeed(from: at)
        let end = feed.map { $0 + 1 } ?? bytes.count
        let limit = door.maximumEventSize + Self.whiteSpaceAllowance
        if carry.count + (end - at) > limit {
            refuseCarry(at: door)
            state = .skippingLine
            return true
        }
        carry.append(contentsOf: bytes.extracting(at..<end))
        at = end
        guard feed != nil else { return true }
        endFirstLine(at: door)
        return carry.isEmpty || scanCarry(at: door)
    }

    private mutating func endFirstLine(at door: SourceDoor) {
        guard state == .firstLine else { return }
        state = .lines
        switch ControlLine(carry.span, reader: door.controlReader) {
        case .none: break
        case .acks(let on):
            wantsAnswers = on
            carry.removeAll(keepingCapacity: true)
        case .malformed(let detail):
            let refusal = Refusal(reason: .invalidJSON, detail: detail)
            door.refuse(refusal)
            Answer.refuse(refusal, line: 0, to: &answers)
            carry = []
            state = .refusedControl
        }
    }

    private mutating func refuseCarry(at door: SourceDoor) {
        let refusal = Refusal.tooLarge(maximum: door.maximumEventSize)
        door.refuse(refusal)
        ledger.add(lines: 1, queuedUpTo: nil)
        if wantsAnswers { Answer.refuse(refusal, line: ledger.lines, to: &answers) }
        carry = []
    }

    // MARK: Scanning

    private mutating func scanCarry(at door: SourceDoor) -> Bool {
        let scan = door.scan(carry.span)
        guard offerCarry(scan, at: door) else {
            stall(scan, inCarry: true, at: door)
            return false
        }
        return true
    }

    /// Offers the finished line; once taken, it is empty again and keeps little memory.
    private mutating func offerCarry(_ scan: ScanResult, at door: SourceDoor) -> Bool {
        var line: [UInt8] = []
        swap(&line, &carry)
        let taken = offer(line.span, scan, at: door)
        if taken {
            if line.capacity > 4096 { line = [] } else { line.removeAll(keepingCapacity: true) }
        }
        carry = line
        return taken
    }

    private mutating func scan(_ bytes: Span<UInt8>, at door: SourceDoor, advancing at: inout Int) -> Bool {
        let rest = bytes.extracting(at..<bytes.count)
        var slice = rest.extracting(first: wantsAnswers ? Self.sliceWithAnswers : Self.slice)
        var scan = door.scan(slice)
        if scan.consumed == 0 && slice.count < rest.count {
            slice = rest
            scan = door.scan(slice)
        }
        if scan.consumed == 0 {
            // No line ends in here: it is the beginning of one.
            return finishLine(bytes, at: door, advancing: &at)
        }
        guard offer(slice, scan, at: door) else {
            stall(scan, inCarry: false, at: door)
            return false
        }
        at += scan.consumed
        return true
    }

    private mutating func stall(_ scan: ScanResult, inCarry: Bool, at door: SourceDoor) {
        stalled = Stalled(
            inCarry: inCarry, scan: scan, accepted: door.accepted, refused: door.refused, rewritten: door.rewritten)
    }

    /// Offers again what the journal had no room for. False: still none.
    private mutating func resume(_ bytes: Span<UInt8>, at door: SourceDoor, advancing at: inout Int) -> Bool {
        guard let stalled else { return true }
        door.accepted = stalled.accepted
        door.refused = stalled.refused
        door.rewritten = stalled.rewritten
        if stalled.inCarry {
            guard offerCarry(stalled.scan, at: door) else { return false }
        } else {
            guard offer(bytes, stalled.scan, at: door) else { return false }
            at += stalled.scan.consumed
        }
        self.stalled = nil
        return true
    }

    /// Hands one scanned slice on. False: the journal is busy, and nothing was taken or told.
    private mutating func offer(_ bytes: Span<UInt8>, _ scan: ScanResult, at door: SourceDoor) -> Bool {
        var end: UInt64?
        if !door.accepted.isEmpty {
            switch door.append(bytes, from: origin) {
            case .busy:
                return false
            case .queued(let position):
                end = position
            case .refused(let refusal):
                for event in door.accepted {
                    door.refused.append(ScannedRefusal(line: Int(event.line), refusal: refusal))
                }
                door.refused.sort { $0.line < $1.line }
            }
        }
        for refused in door.refused {
            door.refuse(refused.refusal)
            if wantsAnswers {
                Answer.refuse(refused.refusal, line: ledger.lines + UInt64(refused.line) + 1, to: &answers)
            }
        }
        ledger.add(lines: scan.lines, queuedUpTo: wantsAnswers ? end : nil)
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
