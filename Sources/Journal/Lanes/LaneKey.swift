/// A lane of a source.
struct LaneKey: Hashable, Comparable {
    var source: String
    var lane: String

    static func < (one: LaneKey, other: LaneKey) -> Bool {
        (one.source, one.lane) < (other.source, other.lane)
    }
}

/// What the journal stores of a lane.
struct StoredLane: Equatable {
    /// Where the source reads on; empty: the lane was forgotten.
    var position: [UInt8]
    /// The journal's position after the lane's last batch with events.
    var end: UInt64
}
