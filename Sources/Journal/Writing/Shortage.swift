/// Why events are not accepted.
struct Shortage: Sendable, Equatable {
    /// For clients whose events are refused.
    var detail: String
    /// For the operator, if there is more to say: clients do not know the destinations.
    var report: String?
    /// Clients wait; if false, their events are refused.
    var blocks: Bool
    /// The reason is a lack of room: `retain`'s size is reached, or the filesystem is full.
    var isFull: Bool
    /// Set when the filesystem is full.
    var space: JournalSpace?
}

/// The space for the next segment on a full filesystem.
package struct JournalSpace: Sendable, Equatable {
    /// The bytes of a segment and of the reserve.
    package var needed: Int
    /// The bytes that are free.
    package var free: Int
}
