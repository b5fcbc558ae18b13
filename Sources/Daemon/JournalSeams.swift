import Delivery
import Events
import Ingest
import Journal

// The journal, as each room that needs it asks for it. Nothing is decided here.

struct JournalAppender: EventAppender {
    let journal: Journal

    func append(_ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin) -> AppendOutcome {
        switch journal.append(bytes, events: events, from: origin) {
        case .queued(let end): .queued(end: end)
        case .busy: .busy
        case .refused(let refusal): .refused(refusal)
        }
    }

    // What clients may be told of, which is not always what readers may see.
    var durableEnd: UInt64 { journal.acknowledgedEnd }
}

struct JournalLog: EventLog {
    let journal: Journal

    var end: UInt64 { journal.durableEnd }

    func makeReader(from position: UInt64) throws -> any EventReader {
        Reader(reader: journal.makeReader(from: position))
    }

    private final class Reader: EventReader {
        private let reader: JournalReader

        init(reader: JournalReader) {
            self.reader = reader
        }

        func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool {
            try reader.read(into: &batch, maximumBytes: maximumBytes)
        }
    }
}

struct JournalCursors: CursorStore {
    let journal: Journal

    func cursor(of destination: String) -> Cursor {
        // A destination is declared before it is started, so the journal knows it.
        guard let kept = journal.cursor(of: destination) else {
            preconditionFailure("destination \(destination) was not declared to the journal")
        }
        return Cursor(position: kept.position, state: kept.state)
    }

    func advance(_ destination: String, to cursor: Cursor) {
        journal.advance(destination, to: JournalCursor(position: cursor.position, state: cursor.state))
    }

    func commit() throws {
        try journal.commit()
    }
}
