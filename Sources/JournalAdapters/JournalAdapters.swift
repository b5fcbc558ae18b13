// JournalAdapters: the journal behind the protocols of the rooms that use it. Ingest and Delivery declare what they
// need of a journal and do not depend on it; this room implements these protocols. It is a separate room so that the
// daemon and the simulator run the same adapters.
//
// The adapters make no decisions and store nothing outside the journal. Any thread, like the journal.

import Delivery
import Events
import Foundation
import Ingest
import Journal

package struct JournalAppender: EventAppender {
    private let journal: Journal
    private var wakesWriter = true

    package init(journal: Journal) { self.journal = journal }

    package var gathering: any EventAppender {
        var other = self
        other.wakesWriter = false
        return other
    }

    package func submit(mayWait: Bool) {
        if mayWait { journal.commitAtOnce() } else { journal.wakeWriter() }
    }

    package var commitDelay: Duration { journal.commitDelay }

    package func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
    ) -> AppendOutcome {
        outcome(journal.append(bytes, events: events, from: origin, lane: lane, wakesWriter: wakesWriter))
    }

    package func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, witness: (any AppendWitness)?
    ) -> AppendOutcome {
        outcome(journal.append(bytes, events: events, from: origin, witness: witness, wakesWriter: wakesWriter))
    }

    private func outcome(_ append: JournalAppend) -> AppendOutcome {
        switch append {
        case .queued(let end): .queued(end: end)
        case .busy: .busy
        case .refused(let refusal): .refused(refusal)
        }
    }

    // The end that may be acknowledged to clients, which can be ahead of the end that readers see.
    package var durableEnd: UInt64 { journal.acknowledgedEnd }

    package var obstacle: String? {
        let statistics = journal.statistics()
        return statistics.problem ?? (statistics.isFull || statistics.isBlocked ? "the journal is full" : nil)
    }
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

        func borrow(
            into batch: inout EventBatch, maximumBytes: Int, selecting selection: (any EventSelection)?
        ) throws -> Bool {
            try reader.read(into: &batch, maximumBytes: maximumBytes, borrows: true, selecting: selection)
        }
    }
}

/// The state that a destination stores with its cursor belongs to its kind: one name may stand for a plugin today and
/// for a file tomorrow. So each state is stored with a mark of its owner, and only that owner gets it back. A
/// destination of another kind continues at the position, without a state.
package struct JournalCursors: CursorStore {
    let journal: Journal
    private let mark: [UInt8]

    /// - Parameter owner: identifies the kind that writes the destinations' states.
    package init(journal: Journal, owner: String) {
        self.journal = journal
        mark = Array(owner.utf8) + [0]
    }

    package func cursor(of destination: String) -> Cursor {
        // The daemon declares a destination before it starts it, so the journal knows it.
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

// A replay is stored as a separate cursor beside its destination's cursor. The state is the replay, as JSON.
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
    /// nil if a version with other replay fields wrote it.
    package init?(_ kept: JournalCursor) {
        guard var replay = try? JSONDecoder().decode(Replay.self, from: Data(kept.state)) else { return nil }
        replay.progress.position = kept.position
        self = replay
    }
}

extension JournalCursor {
    /// nil if the replay does not fit into a cursor's state.
    package init?(_ replay: Replay) {
        // Sorted, so that a replay without progress equals its stored cursor, and is not written again.
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let state = try? encoder.encode(replay), state.count <= Self.stateLimit else { return nil }
        self.init(position: replay.progress.position, state: [UInt8](state))
    }
}
