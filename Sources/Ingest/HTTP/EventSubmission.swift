import Events
import RequestBodies

/// The events of one request on their way to the journal. Survives a journal without room: it goes on where it stopped.
struct EventSubmission {
    /// Bytes that are offered to the journal at once, a larger event aside. Bounds what its queue takes in one step.
    private static let piece = 64 << 10

    private let lines: EventLines
    private var scanned: [ScannedEvent] = []
    private var rewritten: [UInt8]?
    private var next = 0
    /// The refused events, by their index in the request. Those that the answer does not describe have no detail.
    private(set) var refused: [(item: Int, refusal: Refusal)]
    /// Events that are in the journal, and the position at which they are durable.
    private(set) var accepted = 0
    private(set) var end: UInt64 = 0
    /// Whether the journal had no room for some of them.
    private(set) var wasStalled = false

    /// Checks all events.
    /// - Parameter problem: why the request as a whole is not valid. Asked if a line is not: the lines were cut out of
    ///   a body that was not read in full.
    init(
        _ lines: EventLines, through admission: EventAdmission, problem: () -> RequestProblem?
    ) throws(RequestProblem) {
        self.lines = lines
        refused = lines.refused
        admission.scan(lines.bytes.span, maximumRefused: .max)
        if admission.refused.contains(where: { $0.reason == .invalidJSON || $0.reason == .invalidUTF8 }),
            let problem = problem()
        {
            throw problem
        }
        // The answer describes only the first of them, and an explanation costs more than the check.
        for line in admission.refused.prefix(HTTPAnswer.describedRefusals) {
            refused.append((lines.items[line.line], admission.explain(line, in: lines.bytes.span)))
        }
        for line in admission.refused.dropFirst(HTTPAnswer.describedRefusals) {
            refused.append((lines.items[line.line], Refusal(reason: line.reason, detail: "")))
        }
        admission.settleRefused(lines.bytes.span)
        for (_, refusal) in lines.refused { admission.refuse(refusal) }
        scanned = admission.accepted
        rewritten = admission.rewritten
    }

    /// How many events the request has.
    var count: Int { lines.count }

    /// Bytes of memory.
    var heldBytes: Int {
        lines.bytes.capacity + (rewritten?.capacity ?? 0)
            + scanned.capacity * MemoryLayout<ScannedEvent>.stride + lines.items.capacity * MemoryLayout<Int>.stride
    }

    /// The journal has the first `count` events already.
    mutating func skip(_ count: Int) {
        next = min(max(next, count), scanned.count)
        accepted = next
    }

    /// Offers the events that the journal does not have yet.
    /// - Parameters:
    ///   - slot: gets the request's place in the client's stream.
    /// - Returns: false: the journal has no room. Call again once it has.
    mutating func offer(
        through admission: EventAdmission, from origin: Origin, _ slot: ClientSlot?, from start: UInt64, to end: UInt64
    ) -> Bool {
        while next < scanned.count {
            var last = next
            var size = 0
            while last < scanned.count, last == next || size + Int(scanned[last].length) <= Self.piece {
                size += Int(scanned[last].length)
                last += 1
            }
            admission.accepted = Array(scanned[next..<last])
            admission.refused = []
            admission.rewritten = rewritten
            if let slot {
                // A large request has so many pieces that it waits for the first ones.
                guard slot.mayAppend() else {
                    wasStalled = true
                    return false
                }
                slot.intend(
                    offset: last == scanned.count ? end : max(start, slot.record.taken),
                    ClientRecord.State(lines: last == scanned.count ? 0 : UInt64(last)))
            }
            switch admission.append(lines.bytes.span, from: origin, witness: slot) {
            case .busy:
                wasStalled = true
                return false
            case .queued(let end):
                self.end = max(self.end, end)
                accepted += last - next
            case .refused(let refusal):
                for event in scanned[next..<last] { refuse(event, refusal, through: admission) }
            }
            next = last
        }
        refused.sort { $0.item < $1.item }
        return true
    }

    /// Gives up the events that the journal does not have yet.
    mutating func abandon(_ refusal: Refusal, through admission: EventAdmission) {
        for event in scanned[next...] { refuse(event, refusal, through: admission) }
        next = scanned.count
        refused.sort { $0.item < $1.item }
    }

    private mutating func refuse(_ event: ScannedEvent, _ refusal: Refusal, through admission: EventAdmission) {
        admission.refuse(refusal)
        refused.append((lines.items[Int(event.line)], refusal))
    }
}
