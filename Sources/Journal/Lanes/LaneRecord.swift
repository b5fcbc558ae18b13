import Events

/// The position of a lane at the end of a batch of events. Format.md specifies the layout.
struct LaneRecord: Equatable {
    var lane: LanePosition
    /// The journal's position after the lane's previous batch with events; 0: there is none. If that batch was lost in
    /// an interrupted write, this record does not count.
    var previousEnd: UInt64

    /// The flag of a batch that ends with a lane.
    static let flag: UInt16 = 1
    private static let headerSize = 16
    /// The maximum size of a record.
    static let sizeLimit = headerSize + 2 * LanePosition.limit

    /// The bytes that it takes in a batch.
    var size: Int { (Self.headerSize + lane.lane.utf8.count + lane.position.count).paddedTo8 }

    /// Appends the record: the texts, zeros up to a multiple of eight, then the numbers, so that it can be found from
    /// its end.
    func append(to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes += lane.lane.utf8
        bytes += lane.position
        while bytes.count - start < size - Self.headerSize { bytes.append(0) }
        bytes.append(number: previousEnd)
        bytes.append(number: UInt32(clamping: lane.lane.utf8.count))
        bytes.append(number: UInt32(clamping: lane.position.count))
    }

    /// Reads the record at the end of a payload whose checksum matches.
    /// - Returns: nil if it is not valid.
    init?(endOf payload: RawSpan) {
        let header = payload.byteCount - Self.headerSize
        guard header >= 0 else { return nil }
        previousEnd = payload.number(UInt64.self, at: header)
        let name = Int(payload.number(UInt32.self, at: header + 8))
        let position = Int(payload.number(UInt32.self, at: header + 12))
        let start = header - (name + position).paddedTo8
        guard (1...LanePosition.limit).contains(name), position <= LanePosition.limit, start >= 0 else { return nil }
        lane = LanePosition(
            lane: String(decoding: payload.array(start..<start + name), as: UTF8.self),
            position: payload.array(start + name..<start + name + position))
    }

    /// What is stored of the lane after this record.
    /// - Parameters:
    ///   - end: the position after the batch.
    ///   - isEmpty: the batch has no events.
    func stored(end: UInt64, isEmpty: Bool) -> StoredLane {
        StoredLane(position: lane.position, end: isEmpty ? previousEnd : end)
    }

    init(_ lane: LanePosition, previousEnd: UInt64) {
        self.lane = lane
        self.previousEnd = previousEnd
    }
}
