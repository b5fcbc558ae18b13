import Events
import Ingest
import Journal
import JournalAdapters

/// Appends the clients' events to the running journal and records their positions in the ledger.
final class SimulatedAppender: EventAppender, @unchecked Sendable {
    unowned let world: World

    init(_ world: World) { self.world = world }

    func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
    ) -> AppendOutcome {
        guard let journal = world.journal else { return .busy }
        let outcome = JournalAppender(journal: journal).append(bytes, events: events, from: origin, lane: lane)
        world.trace.mix(events.count)
        guard case .queued(let end) = outcome else { return outcome }
        for index in events.indices {
            var json: [UInt8] = []
            json.append(
                contentsOf: bytes.extracting(
                    Int(events[index].offset)..<Int(events[index].offset + events[index].length)))
            guard let event = world.ledger.number(of: json) else {
                world.trace.violated("an event that no client sent reached the journal")
                continue
            }
            let position = end - UInt64(events.count - index)
            if let problem = world.ledger.assign(event, to: position) { world.trace.violated(problem) }
        }
        return outcome
    }

    var durableEnd: UInt64 { world.journal.map { JournalAppender(journal: $0).durableEnd } ?? 0 }
}
