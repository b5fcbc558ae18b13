import Events

/// The journal as Delivery sees it. Any thread.
package protocol EventLog: Sendable {
    /// The position after the last durable event. It only grows.
    var end: UInt64 { get }
    /// A reader that starts at `position`, or at the first stored event if that is later.
    func makeReader(from position: UInt64) throws -> any EventReader
}

/// Reads durable events in order. Use by one thread at a time.
package protocol EventReader: AnyObject {
    /// Replaces the batch's contents with the next events, about `maximumBytes` at most, but at least one event if one
    /// is available.
    /// - Returns: false if no durable event can be read now. `batch.next` is then the position after everything that
    ///   was passed over.
    /// - Throws: when the journal can't be read (EIO, EMFILE …). No event is skipped, and the next call tries again.
    ///   Damage is not an error: the reader continues after it, and the positions in `batch.events` show the gap.
    func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool
    /// The same, but the events may lie in the log's memory. The log may wait for a reader that uses this, so: use the
    /// batch at once and remove its contents, or keep them (`EventBatch.keep`).
    /// - Parameter selection: the reader may leave out events that it does not take, and counts them in the batch. If
    ///   it leaves all out, it returns true with a batch that has no event.
    func borrow(into batch: inout EventBatch, maximumBytes: Int, selecting selection: (any EventSelection)?) throws
        -> Bool
}

extension EventReader {
    package func borrow(
        into batch: inout EventBatch, maximumBytes: Int, selecting selection: (any EventSelection)?
    ) throws -> Bool {
        try read(into: &batch, maximumBytes: maximumBytes)
    }
}

/// A destination's progress, as it is kept across restarts.
package struct Cursor: Sendable, Equatable {
    /// Everything below is settled: delivered, filtered out or dead-lettered.
    package var position: UInt64
    /// State that the destination keeps with the position (the file destination: path and length). Opaque; at most 4
    /// KiB.
    package var state: [UInt8]

    package init(position: UInt64, state: [UInt8] = []) {
        self.position = position
        self.state = state
    }
}

/// Keeps the cursors. Any thread.
package protocol CursorStore: Sendable {
    /// The destination's stored cursor. A new destination gets the cursor that its `start:` names, which is durable by
    /// now.
    func cursor(of destination: String) -> Cursor
    /// The position at which the destination began.
    func start(of destination: String) -> UInt64
    /// Stores a new cursor. The next commit makes it durable; the store commits at least every
    /// `journal.cursor_interval`.
    func advance(_ destination: String, to cursor: Cursor)
    /// Returns when every stored cursor is durable.
    func commit() throws
    /// Records the settled positions of a passage, after each batch. The record survives a kill, but is not durable.
    /// Only for destinations whose `settlesAtOnce` is true.
    func settle(_ destination: String, _ passage: Passage, _ settled: SettledPositions)
    /// The recorded settled positions of a passage; nil: unknown.
    func settled(of destination: String, _ passage: Passage) -> SettledPositions?
    /// The destination's running replay; nil: none.
    func replay(of destination: String) -> Replay?
    /// As `advance(_:to:)`, and stores the replay's progress in the same commit. Ignores the progress unless that
    /// replay is running.
    func advance(_ destination: String, to cursor: Cursor, _ replay: Replay)
    /// Removes a replay that is done.
    func finish(_ replay: Replay, of destination: String)
}

/// The defaults suit a store without replays and passages, whose destinations all begin at position 0.
extension CursorStore {
    package func start(of destination: String) -> UInt64 { 0 }
    package func settle(_ destination: String, _ passage: Passage, _ settled: SettledPositions) {}
    package func settled(of destination: String, _ passage: Passage) -> SettledPositions? { nil }
    package func replay(of destination: String) -> Replay? { nil }
    package func advance(_ destination: String, to cursor: Cursor, _ replay: Replay) {
        advance(destination, to: cursor)
    }
    package func finish(_ replay: Replay, of destination: String) {}
}
