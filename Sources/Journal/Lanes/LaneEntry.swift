/// A lane in the batch of lanes at the beginning of a segment. Format.md specifies the layout.
enum LaneEntry {
    /// The flag of a batch of lanes that a batch of marks follows.
    static let marksFlag: UInt16 = 1

    private static let headerSize = 16

    static func size(_ key: LaneKey, _ stored: StoredLane) -> Int {
        (headerSize + key.source.utf8.count + key.lane.utf8.count + stored.position.count).paddedTo8
    }

    static func append(_ key: LaneKey, _ stored: StoredLane, to bytes: inout [UInt8]) {
        bytes.append(number: stored.end)
        bytes.append(number: UInt16(clamping: key.source.utf8.count))
        bytes.append(number: UInt16(clamping: key.lane.utf8.count))
        bytes.append(number: UInt16(clamping: stored.position.count))
        bytes.append(number: UInt16(0))
        bytes += key.source.utf8
        bytes += key.lane.utf8
        bytes += stored.position
        bytes.pad()
    }

    /// Reads the entry at `start`, which is a multiple of eight.
    /// - Returns: nil if it does not fit.
    static func read(_ bytes: RawSpan, at start: Int) -> (key: LaneKey, stored: StoredLane, size: Int)? {
        guard start >= 0, bytes.byteCount - start >= headerSize else { return nil }
        let source = Int(bytes.number(UInt16.self, at: start + 8))
        let lane = Int(bytes.number(UInt16.self, at: start + 10))
        let position = Int(bytes.number(UInt16.self, at: start + 12))
        let texts = start + headerSize
        guard bytes.byteCount - texts >= source + lane + position else { return nil }
        let key = LaneKey(
            source: String(decoding: bytes.array(texts..<texts + source), as: UTF8.self),
            lane: String(decoding: bytes.array(texts + source..<texts + source + lane), as: UTF8.self))
        let stored = StoredLane(
            position: bytes.array(texts + source + lane..<texts + source + lane + position),
            end: bytes.number(UInt64.self, at: start))
        return (key, stored, size(key, stored))
    }
}
