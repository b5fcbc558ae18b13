import Configuration
import Events

/// The door that events come in through: what it takes, it takes as a source of the daemon's does.
struct ExplainedDoor {
    struct Refused: Error {
        var refusal: Refusal
    }

    /// The source's name.
    let source: String?
    private let scanner: EventScanner

    /// - Parameter source: nil: the usual limits.
    init(_ source: Configuration.Source?) {
        self.source = source?.name
        let limits = source ?? .usual
        scanner = EventScanner(maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)
    }

    /// A batch of this one event, or the reason why it is none.
    func admit(_ text: [UInt8], position: UInt64, receivedAt: Int64) -> Result<EventBatch, Refused> {
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
