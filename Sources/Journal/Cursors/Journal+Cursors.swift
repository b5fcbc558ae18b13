import Platform

// Where destinations, replays and retries stand.

extension Journal {
    /// Registers destinations, each with the position at which it starts (at most the durable end). The registration is
    /// durable before a destination's first delivery. The list replaces the configured destinations: only these hold
    /// segments. A destination that is already registered keeps its cursor.
    package func declare(destinations: [(name: String, start: UInt64)]) throws(JournalError) {
        // Queued events may never reach the disk: a cursor above the durable end would report the missing end as
        // damage.
        let (first, end) = (firstPosition, durableEnd)
        try cursors.declare(destinations.map { ($0.name, max(min($0.start, end), first)) })
        for (name, position) in cursors.configured(below: first) {
            quarantine.report(
                Gap(
                    positions: position..<first, reason: .removed, path: "the segments below the cursor of \(name)",
                    bytes: 0..<0),
                file: nil)
        }
    }

    /// The destination's cursor; nil if it was never declared.
    package func cursor(of destination: String) -> JournalCursor? { cursors.cursor(of: destination) }

    /// The position at which a destination started when it was first declared; 0 if it never was.
    package func start(of destination: String) -> UInt64 { cursors.start(of: destination) }

    /// Moves a cursor forward; a cursor below the current one is ignored. The new cursor is durable after the next
    /// commit, which happens at least every `cursorInterval`.
    package func advance(_ destination: String, to cursor: JournalCursor) { cursors.advance(destination, to: cursor) }

    /// As above. The same commit also contains the next cursor of the destination's replay, if a replay is in progress.
    package func advance(
        _ destination: String, to cursor: JournalCursor, replay next: (JournalCursor) -> JournalCursor
    ) { cursors.advance(destination, to: cursor, replay: next) }

    /// Records the progress of a passage (delivery, replay or retry) after each settled batch: about a microsecond, no
    /// sync. After a kill, the destination continues from this cursor; after a power cut, from its state at the last
    /// commit of events. Only for destinations that keep no state with their cursor.
    package func settle(_ destination: String, _ cursor: LiveCursor) { cursors.settle(destination, cursor) }

    /// The progress of a passage to a destination; nil if none is recorded. For delivery the position is never below
    /// the cursor's.
    package func live(of destination: String, _ kind: LiveCursor.Kind, tag: UInt64) -> LiveCursor? {
        cursors.live(of: destination, kind, tag: tag)
    }

    /// The cursor of the current replay to a destination; nil if there is no replay. It holds no segment.
    package func replay(of destination: String) -> JournalCursor? { cursors.replay(of: destination) }
    /// Names of the destinations that have a replay, configured or not.
    package var replays: [String] { cursors.replays }
    /// Begins a replay, or ends it (nil). Durable after the next commit.
    package func setReplay(of destination: String, to cursor: JournalCursor?) {
        cursors.setReplay(destination, to: cursor)
    }

    /// The position after the last event that `open` found.
    package var recoveredEnd: UInt64 { ends.recovered }

    /// Records that these destinations' stores may have events that the journal no longer has, because none was
    /// compared with the journal since it ended at `end`. A destination that is recorded already keeps its earlier end.
    /// Durable after the next commit.
    package func setUnverified(_ destinations: some Sequence<String>, since end: UInt64) {
        cursors.setUnverified(destinations, since: end)
    }

    /// The journal's end since which the destination's store is not verified; nil: it is verified.
    package func unverifiedEnd(of destination: String) -> UInt64? { cursors.unverifiedEnd(of: destination) }

    /// Records that the destination's store has no events beyond the journal's. Returns when that is durable, which
    /// must be before the store takes events that the journal got since then.
    package func setVerified(_ destination: String) throws(JournalError) {
        try journal("write the cursors") { () throws(SystemError) in try cursors.setVerified(destination) }
    }

    /// Returns when every cursor recorded so far is durable.
    package func commit() throws(JournalError) {
        try journal("write the cursors") { () throws(SystemError) in try cursors.commit() }
    }
}
