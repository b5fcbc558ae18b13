import Assembly
import DaemonConfiguration
import Events
import Ingest

/// Admits an event with the same checks and changes as a source of the daemon: validation, repairs, tracking plan,
/// scrubbing.
struct AdmissionPreview {
    struct Refused: Error {
        var refusal: Refusal
    }

    /// The sender of the events. The source is an empty text if the configuration has none.
    let origin: Origin
    /// Whether events may be changed before they are stored.
    var rewrites: Bool { scrubber != nil || !repairs.isEmpty || inspector.begin() }
    private let scanner: EventScanner
    private let repairs: EventRepairs
    private let inspector: PlanInspector
    private let scrubber: SourceScrubber?

    /// - Parameters:
    ///   - source: nil: a source with default limits.
    ///   - peer: nil: the kernel does not name the sender.
    init(_ source: Configuration.Source?, from peer: TestPeer?, in configuration: Configuration) {
        let name = source?.name ?? ""
        origin =
            peer.map { Origin(source: name, uid: $0.uid, gid: $0.gid, pid: $0.pid) } ?? Origin(unknownPeerOf: name)
        let limits = source ?? .usual
        scanner = EventScanner(maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)
        repairs = EventRepairs(limits)
        inspector = PlanInspector(CurrentPlan(configuration.plan), for: limits, configuration.journal)
        scrubber = SourceScrubber(limits)
    }

    /// Returns a batch with this event as it would be stored, or the refusal.
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
        // The scrubbed event is validated again: it is stored only if it is still a valid event.
        return scan(scrubbed, position: batch.events[0].position, receivedAt: batch.events[0].receivedAt)
    }

    private func scan(_ text: [UInt8], position: UInt64, receivedAt: Int64) -> Result<EventBatch, Refused> {
        var batch = EventBatch()
        batch.ownBytes = text + [UInt8(ascii: "\n")]
        var accepted: [ScannedEvent] = []
        var refused: [RefusedLine] = []
        _ = scanner.scan(batch.ownBytes.span, accepted: &accepted, refused: &refused)
        let repaired = RepairedSlice(
            batch.ownBytes.span, accepted: accepted, refused: refused, repairs: repairs, scanner: scanner)
        if let first = repaired.refused.first {
            return .failure(Refused(refusal: first.refusal(in: batch.ownBytes.span, by: scanner)))
        }
        if let bytes = repaired.bytes { batch.ownBytes = bytes }
        guard let event = repaired.accepted.first else {
            return .failure(
                Refused(refusal: Refusal(reason: .invalidJSON, detail: "there is no event here, only whitespace")))
        }
        batch.origins = [origin]
        batch.events = [
            EventRecord(
                position: position, receivedAt: receivedAt, offset: event.offset, length: event.length, origin: 0,
                index: event.index)
        ]
        batch.next = position &+ 1
        return .success(batch)
    }
}
