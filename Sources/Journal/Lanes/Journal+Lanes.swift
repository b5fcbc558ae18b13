import Events

extension Journal {
    /// The stored positions of a source's lanes. A position that was appended is stored once the acknowledged end has
    /// reached the end of its append.
    package func lanes(of source: String) -> [LanePosition] { lanes.positions(of: source) }

    /// How far a lane has brought in the events of an origin; nil: nothing is known of it. Stored like the position.
    package func mark(of source: String, lane: String, _ origin: OriginID) -> OriginPlace? {
        lanes.mark(of: LaneKey(source: source, lane: lane), origin)
    }
}
