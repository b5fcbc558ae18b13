import Events

/// The marks of a lane in the batch of marks at the beginning of a segment. Format.md specifies the layout.
enum MarkEntry {
    private static let fixedSize = 8
    /// The bytes of one mark.
    static let markSize = 40

    /// The bytes before a lane's marks.
    static func headerSize(_ key: LaneKey) -> Int {
        fixedSize + (key.source.utf8.count + key.lane.utf8.count).paddedTo8
    }

    static func append(_ key: LaneKey, _ marks: [OriginID: StoredMark], to bytes: inout [UInt8]) {
        bytes.append(number: UInt32(clamping: marks.count))
        bytes.append(number: UInt16(clamping: key.source.utf8.count))
        bytes.append(number: UInt16(clamping: key.lane.utf8.count))
        bytes += key.source.utf8
        bytes += key.lane.utf8
        bytes.pad()
        for (origin, mark) in marks.sorted(by: { $0.key < $1.key }) {
            bytes.append(number: origin.high)
            bytes.append(number: origin.low)
            bytes.append(number: mark.place.position)
            bytes.append(number: mark.used)
            bytes.append(number: mark.place.part)
            bytes.append(number: UInt32(0))
        }
    }

    /// Reads the marks of the lane at `start`, which is a multiple of eight, into a table.
    /// - Returns: where the next lane's begin; nil if they do not fit.
    static func read(_ bytes: RawSpan, at start: Int, into table: inout MarkTable) -> Int? {
        guard start >= 0, bytes.byteCount - start >= fixedSize else { return nil }
        let count = Int(bytes.number(UInt32.self, at: start))
        let source = Int(bytes.number(UInt16.self, at: start + 4))
        let lane = Int(bytes.number(UInt16.self, at: start + 6))
        let texts = start + fixedSize
        let marks = texts + (source + lane).paddedTo8
        guard marks + count * markSize <= bytes.byteCount else { return nil }
        let key = LaneKey(
            source: String(decoding: bytes.array(texts..<texts + source), as: UTF8.self),
            lane: String(decoding: bytes.array(texts + source..<texts + source + lane), as: UTF8.self))
        for index in 0..<count {
            let place = marks + index * markSize
            table.insert(
                key,
                OriginID(high: bytes.number(UInt64.self, at: place), low: bytes.number(UInt64.self, at: place + 8)),
                StoredMark(
                    place: OriginPlace(
                        position: bytes.number(UInt64.self, at: place + 16),
                        part: bytes.number(UInt32.self, at: place + 32)),
                    used: bytes.number(UInt64.self, at: place + 24)))
        }
        return marks + count * markSize
    }
}
