import Configuration
import Daemon
import Events
import Ingest

/// The door that events come in through: what it takes, it takes as a source of the daemon's does.
struct ExplainedDoor {
    struct Refused: Error {
        var refusal: Refusal
    }

    /// The source's name.
    let source: String?
    /// Events may be stored otherwise than they came.
    var rewrites: Bool { scrubber != nil || inspector.begin() }
    private let scanner: EventScanner
    private let inspector: PlanInspector
    private let scrubber: SourceScrubber?

    /// - Parameter source: nil: the usual limits.
    init(_ source: Configuration.Source?, in configuration: Configuration) {
        self.source = source?.name
        let limits = source ?? .usual
        scanner = EventScanner(maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)
        inspector = PlanInspector(CurrentPlan(configuration.plan), for: limits, configuration.journal)
        scrubber = SourceScrubber(limits)
    }

    /// A batch of this one event, as it is stored, or the reason why it is none.
    func admit(_ text: [UInt8], position: UInt64, receivedAt: Int64) -> Result<EventBatch, Refused> {
        let scanned = scan(text, position: position, receivedAt: receivedAt)
        guard inspector.begin(), case .success(let batch) = scanned else { return scrub(scanned) }
        switch inspector.inspect(batch.json(of: batch.events[0]), batch.events[0].index) {
        case .passes, .noted: return scrub(scanned)
        case .rewritten:
            var rewritten: [UInt8] = []
            inspector.appendRewritten(to: &rewritten)
            return scrub(scan(rewritten, position: position, receivedAt: receivedAt))
        case .refused(let refusal): return .failure(Refused(refusal: refusal))
        }
    }

    private func scrub(_ scanned: Result<EventBatch, Refused>) -> Result<EventBatch, Refused> {
        guard let scrubber, case .success(let batch) = scanned else { return scanned }
        var scrubbed: [UInt8] = []
        if let reason = scrubber.scrub(batch.json(of: batch.events[0]), batch.events[0].index, into: &scrubbed) {
            return .failure(Refused(refusal: Refusal(reason: .notAllowed, detail: "scrub: \(reason)")))
        }
        // What scrubbing has left is an event, or it is not stored.
        return scan(scrubbed, position: batch.events[0].position, receivedAt: batch.events[0].receivedAt)
    }

    private func scan(_ text: [UInt8], position: UInt64, receivedAt: Int64) -> Result<EventBatch, Refused> {
        var batch = EventBatch()
        batch.bytes = text + [UInt8(ascii: "\n")]
        var accepted: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        _ = scanner.scan(batch.bytes.span, accepted: &accepted, refused: &refused)
        if let first = refused.first { return .failure(Refused(refusal: first.refusal)) }
        guard let event = accepted.first else {
            return .failure(Refused(refusal: Refusal(reason: .invalidJSON, detail: "there is no event here, only white space")))
        }
        batch.origins = [Origin(source: source ?? "", uid: 0, gid: 0, pid: 0)]
        batch.events = [
            EventRecord(
                position: position, receivedAt: receivedAt, offset: event.offset, length: event.length, origin: 0,
                index: event.index)
        ]
        batch.next = position &+ 1
        return .success(batch)
    }
}
