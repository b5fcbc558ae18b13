import Events

/// The journal as Delivery sees it. Any thread.
package protocol EventLog: Sendable {
    /// The position after the last durable event. Only grows.
    var end: UInt64 { get }
    /// A reader that starts at `position`, or at the first event kept if that is later.
    func makeReader(from position: UInt64) throws -> any EventReader
}

/// Reads durable events in order. One thread at a time.
package protocol EventReader: AnyObject {
    /// Replaces the batch's contents with the next events, at most about `maximumBytes` of them
    /// (at least one, if there is one).
    /// - Returns: false if there is nothing durable to read now; `batch.next` is behind what was passed
    ///   over on the way to saying so.
    /// - Throws: when the journal cannot be read (EIO, EMFILE …); nothing is skipped, the next
    ///   call tries again. Damage is not an error: the reader goes on behind it, and
    ///   `batch.events` shows the gap.
    func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool
}

/// How far a destination is, as it is kept across restarts.
package struct Cursor: Sendable, Equatable {
    /// Everything below is settled: delivered, filtered out or dead-lettered.
    package var position: UInt64
    /// What the destination wants to find again together with the position (the file
    /// destination: path and length). Opaque; at most 4 KiB.
    package var state: [UInt8]

    package init(position: UInt64, state: [UInt8] = []) {
        self.position = position
        self.state = state
    }
}

/// Keeps the cursors. Any thread.
package protocol CursorStore: Sendable {
    /// The cursor kept for a destination; for one never seen before, the one that its `start:`
    /// gave it, durable by now.
    func cursor(of destination: String) -> Cursor
    /// The position at which the destination began.
    func start(of destination: String) -> UInt64
    /// Takes a new cursor. Durable after the next commit, which the store makes by itself at
    /// least every `journal.cursor_interval`.
    func advance(_ destination: String, to cursor: Cursor)
    /// Returns when every cursor taken so far is durable.
    func commit() throws
    /// Takes what is settled of a passage, after each batch: it survives a kill, but is not durable. Only of a
    /// destination whose `settlesAtOnce` is true.
    func settle(_ destination: String, _ passage: Passage, _ settled: SettledPositions)
    /// What is settled of a passage; nil: not known.
    func settled(of destination: String, _ passage: Passage) -> SettledPositions?
    /// The replay that is under way to a destination; nil: none.
    func replay(of destination: String) -> Replay?
    /// The same as `advance`, and in the same commit how far a replay is; nothing of that if it is not under way
    /// (any more).
    func advance(_ destination: String, to cursor: Cursor, _ replay: Replay)
    /// A replay has come to its end.
    func finish(_ replay: Replay, of destination: String)
}

/// The defaults are those of a store that knows no replays and no passages, and only destinations that got everything.
extension CursorStore {
    package func start(of destination: String) -> UInt64 { 0 }
    package func settle(_ destination: String, _ passage: Passage, _ settled: SettledPositions) {}
    package func settled(of destination: String, _ passage: Passage) -> SettledPositions? { nil }
    package func replay(of destination: String) -> Replay? { nil }
    package func advance(_ destination: String, to cursor: Cursor, _ replay: Replay) { advance(destination, to: cursor) }
    package func finish(_ replay: Replay, of destination: String) {}
}
