/// How the journal is, at one moment.
package struct JournalStatistics: Sendable, Equatable {
    /// The first position kept.
    package var first: UInt64
    /// The position that the next event gets.
    package var next: UInt64
    package var durable: UInt64
    package var acknowledged: UInt64
    /// Bytes that all segment files have, the prepared one included.
    package var bytes: Int
    package var segments: Int
    /// Bytes that wait for the writer.
    package var queuedBytes: Int
    /// Damage met since the start: at most a thousand, one by one.
    package var gaps: [Gap]
    package var gapCount: Int
    /// Why events are not taken, now or once the current segment is full; nil: they are.
    package var problem: String?
    /// The problem is a lack of room: below `retain`'s size, or on the filesystem.
    package var isFull: Bool
    /// Clients wait, now or once the current segment is full; otherwise a problem means that events are refused.
    package var isBlocked: Bool
    /// What the filesystem lacks for the next segment; nil: nothing.
    package var space: JournalSpace?
    /// What `retain` allows, and what happens when there is no more room.
    package var retainSize: Int
    package var retainTime: Duration
    package var whenFull: JournalOptions.WhenFull
    /// Segments that went before `retain` asked for it, because the filesystem was full; since the start.
    package var removedForSpace: Int
    /// Positions that `drop_oldest` took from each destination since the start.
    package var dropped: [String: UInt64]
}
