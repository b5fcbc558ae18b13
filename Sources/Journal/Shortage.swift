/// Why events are not taken.
struct Shortage: Sendable, Equatable {
    /// A sentence for the operator, and for clients whose events are refused.
    var detail: String
    /// Clients wait; otherwise their events are refused.
    var blocks: Bool
    /// What lacks is room: below `retain`'s size, or on the filesystem.
    var isFull: Bool
    /// On a full filesystem.
    var space: JournalSpace?
}

/// What a filesystem lacks for the next segment.
package struct JournalSpace: Sendable, Equatable {
    /// Bytes of a segment and of the reserve.
    package var needed: Int
    /// Bytes that are free.
    package var free: Int
}
