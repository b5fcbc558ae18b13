import DaemonConfiguration
import Events
import Journal
import Testing

@testable import Explanation

/// Events in memory, which a comparison reads like those of a journal. Positions begin at 0, and one event is received
/// each second from `morning` on.
final class ListedEvents: EventPieces {
    private let texts: [String]
    private let piece: Int
    private let range: DumpRange
    private var next = 0
    let missing: UInt64

    /// - Parameter piece: the number of events that are read at once.
    init(_ texts: [String], piece: Int = 3, range: DumpRange = DumpRange(), missing: UInt64 = 0) {
        self.texts = texts
        self.piece = piece
        self.range = range
        self.missing = missing
    }

    var progress: (done: Int, total: Int) { (next, texts.count) }

    func read(into batch: inout EventBatch, maximumBytes: Int) throws(JournalError) -> Bool {
        batch.removeAll()
        guard next < texts.count else { return false }
        batch.origins = [Origin(source: "apps", uid: 33, gid: 33, pid: 1)]
        for _ in 0..<min(piece, texts.count - next) {
            let receivedAt = morning + Int64(next) * 1_000_000_000
            if range.contains(position: UInt64(next), time: receivedAt) { add(texts[next], receivedAt, to: &batch) }
            next += 1
        }
        batch.next = UInt64(next)
        return true
    }

    private func add(_ text: String, _ receivedAt: Int64, to batch: inout EventBatch) {
        var accepted: [ScannedEvent] = []
        var refused: [RefusedLine] = []
        let line = Array(text.utf8) + [10]
        _ = EventScanner(maximumEventSize: 1 << 20, maximumDepth: 64).scan(
            line.span, accepted: &accepted, refused: &refused)
        guard let event = accepted.first else {
            Issue.record("not an event: \(text)")
            return
        }
        batch.events.append(
            EventRecord(
                position: UInt64(next), receivedAt: receivedAt, offset: UInt32(batch.ownBytes.count) + event.offset,
                length: event.length, origin: 0, index: event.index))
        batch.ownBytes += line
    }
}

/// Compares two configurations, which share a source, with events.
func compare(
    _ old: String, _ new: String, _ events: [String], _ options: ConfigurationComparison.Options = .init(),
    piece: Int = 3
) throws -> ComparisonReport {
    let source = "sources: { apps: { socket: /run/e.sock } }\n"
    return try ConfigurationComparison(
        from: try configuration(source + old), to: try configuration(source + new), options
    ).run(journal: EventExplainer.noJournal) { range in ListedEvents(events, piece: piece, range: range) }
}

extension ComparisonReport {
    func destination(_ name: String) throws -> Destination {
        try #require(destinations.first { $0.name == name }, "there is no \(name)")
    }
}
