/// The journal's state at one moment.
package struct JournalStatistics: Sendable, Equatable {
    /// The position of the first event kept.
    package var first: UInt64
    /// The position that the next event will get.
    package var next: UInt64
    package var durable: UInt64
    package var acknowledged: UInt64
    /// The size of all segment files in bytes, including the spare.
    package var bytes: Int
    package var segments: Int
    /// Bytes that wait for the writer.
    package var queuedBytes: Int
    /// The damage found since the start, at most a thousand gaps.
    package var gaps: [Gap]
    package var gapCount: Int
    /// Why events are not accepted, now or once the current segment is full; nil if they are.
    package var problem: String?
    /// The problem is a lack of room: `retainSize` is reached, or the filesystem is full.
    package var isFull: Bool
    /// Clients wait, now or once the current segment is full. If false, a problem means that events are refused.
    package var isBlocked: Bool
    /// The space that the filesystem lacks for the next segment; nil if it has enough.
    package var space: JournalSpace?
    /// The `retain` and `when_full` options in force.
    package var retainSize: Int
    package var retainTime: Duration
    package var whenFull: JournalOptions.WhenFull
    /// Segments removed before `retain` required it, because the filesystem was full; since the start.
    package var removedForSpace: Int
    /// The number of positions that `drop_oldest` took from each destination since the start.
    package var dropped: [String: UInt64]
}

extension Journal {
    /// The figures that `penstock status` shows.
    package func statistics() -> JournalStatistics {
        let all = segments.all
        let (gaps, count) = quarantine.gaps
        let problem = queue.problem
        return JournalStatistics(
            first: firstPosition, next: queue.next, durable: ends.durable, acknowledged: ends.acknowledged,
            bytes: all.reduce(spare.isReady ? context.options.segmentSize : 0) { $0 + $1.fileSize },
            segments: all.count,
            queuedBytes: queue.queuedBytes, gaps: gaps, gapCount: count,
            problem: problem.map { $0.report ?? $0.detail },
            isFull: problem?.isFull ?? false, isBlocked: problem?.blocks ?? false, space: problem?.space,
            retainSize: context.options.retainSize, retainTime: context.options.retainTime,
            whenFull: context.options.whenFull, removedForSpace: segments.removedForSpace, dropped: cursors.dropped)
    }

    /// The number of positions lost to damage that somebody has to look at. It falls to 0 when the copies in
    /// `quarantine/` are deleted, or when retention has removed the damaged segments. Blocks on the disk.
    package func unresolvedDamage() -> UInt64 { quarantine.unresolved(from: firstPosition) }
}
