// Seams: the journal, as each room that needs it asks for it. Ingest and Delivery declare what they
// want of a journal, and know none; here it is given to them. It is a room of its own so that whoever
// runs the parts together (the daemon, the simulator) runs the same seams.
//
// It decides nothing and keeps nothing. Any thread, as the journal.

import Delivery
import Events
import Foundation
import Ingest
import Journal

package struct JournalAppender: EventAppender {
    private let journal: Journal

    package init(journal: Journal) { self.journal = journal }

    package func append(_ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin) -> AppendOutcome {
        switch journal.append(bytes, events: events, from: origin) {
        case .queued(let end): .queued(end: end)
        case .busy: .busy
        case .refused(let refusal): .refused(refusal)
        }
    }

    // What clients may be told of, which is not always what readers may see.
    package var durableEnd: UInt64 { journal.acknowledgedEnd }
}

package struct JournalLog: EventLog {
    private let journal: Journal

    package init(journal: Journal) { self.journal = journal }

    package var end: UInt64 { journal.durableEnd }

    package func makeReader(from position: UInt64) throws -> any EventReader {
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

/// What a destination keeps with its cursor is its kind's own: a name may stand for a plugin today
/// and for a file tomorrow. So each state is kept with a mark of who wrote it, and nobody else is
/// given it: a destination of another kind goes on at the position, as one that kept nothing.
package struct JournalCursors: CursorStore {
    let journal: Journal
    private let mark: [UInt8]

    /// - Parameter owner: who writes the destinations' states.
    package init(journal: Journal, owner: String) {
        self.journal = journal
        mark = Array(owner.utf8) + [0]
    }

    package func cursor(of destination: String) -> Cursor {
        // A destination is declared before it is started, so the journal knows it.
        guard let kept = journal.cursor(of: destination) else {
            preconditionFailure("destination \(destination) was not declared to the journal")
        }
        let isOurs = kept.state.starts(with: mark)
        return Cursor(position: kept.position, state: isOurs ? Array(kept.state.dropFirst(mark.count)) : [])
    }

    package func start(of destination: String) -> UInt64 { journal.start(of: destination) }

    package func advance(_ destination: String, to cursor: Cursor) {
        journal.advance(destination, to: kept(cursor))
    }

    private func kept(_ cursor: Cursor) -> JournalCursor {
        JournalCursor(position: cursor.position, state: cursor.state.isEmpty ? [] : mark + cursor.state)
    }

    package func commit() throws {
        try journal.commit()
    }
}

// A replay is kept as a cursor of its own, beside its destination's: the state is the replay, as JSON.
extension JournalCursors {
    package func replay(of destination: String) -> Replay? { journal.replay(of: destination).flatMap(Replay.init) }

    package func advance(_ destination: String, to cursor: Cursor, _ replay: Replay) {
        let next = JournalCursor(replay)
        journal.advance(destination, to: kept(cursor)) { old in Replay(old)?.id == replay.id ? next ?? old : old }
    }

    package func finish(_ replay: Replay, of destination: String) {
        if self.replay(of: destination)?.id == replay.id { journal.setReplay(of: destination, to: nil) }
    }
}

extension Replay {
    /// nil: it was written by a version that says other things of a replay.
    package init?(_ kept: JournalCursor) {
        guard var replay = try? JSONDecoder().decode(Replay.self, from: Data(kept.state)) else { return nil }
        replay.progress.position = kept.position
        self = replay
    }
}

extension JournalCursor {
    /// nil: it has more to say than is kept with a cursor.
    package init?(_ replay: Replay) {
        guard let state = try? JSONEncoder().encode(replay), state.count <= Self.stateLimit else { return nil }
        self.init(position: replay.progress.position, state: [UInt8](state))
    }
}
