import Events

extension Journal {
    /// The stored positions of a source's lanes. A position that was appended is stored once the acknowledged end has
    /// reached the end of its append.
    package func lanes(of source: String) -> [LanePosition] { lanes.positions(of: source) }
}
