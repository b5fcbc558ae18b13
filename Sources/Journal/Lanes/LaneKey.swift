/// A lane of a source. Two names are the same if their bytes are: to a `String`, some names that differ are equal
/// (canonical equivalence), and one of their positions would be lost.
struct LaneKey: Hashable, Comparable {
    let source: String
    let lane: String
    private let bytes: [UInt8]

    init(source: String, lane: String) {
        self.source = source
        self.lane = lane
        // A lane's name has no NUL.
        bytes = Array(source.utf8) + [0] + Array(lane.utf8)
    }

    static func == (one: LaneKey, other: LaneKey) -> Bool { one.bytes == other.bytes }
    static func < (one: LaneKey, other: LaneKey) -> Bool { one.bytes.lexicographicallyPrecedes(other.bytes) }
    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// What the journal stores of a lane.
struct StoredLane: Equatable {
    /// Where the source reads on; empty: the lane was forgotten.
    var position: [UInt8]
    /// The journal's position after the lane's last batch with events.
    var end: UInt64
}
