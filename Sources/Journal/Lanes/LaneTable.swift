import Events
import Platform
import Synchronization

/// The lanes of all sources, as far as their events are committed. Any thread; only the writer changes it.
final class LaneTable: Sendable {
    private let lanes: Mutex<[LaneKey: StoredLane]>

    init(_ found: [LaneKey: StoredLane]) {
        lanes = Mutex(found)
    }

    /// The maximum size of the batch of lanes in a segment of this size, without the header.
    static func limit(segmentSize: Int) -> Int { min(1 << 20, (segmentSize - Segment.sealSize) / 8) }

    /// - Throws: the segments are too small to begin with all lanes.
    static func check(_ lanes: [LaneKey: StoredLane], _ options: JournalOptions) throws(JournalError) {
        let size = lanes.reduce(0) { $0 + LaneEntry.size($1.key, $1.value) }
        guard size > limit(segmentSize: options.segmentSize) else { return }
        throw JournalError(
            .invalidOptions,
            "journal.segment_size is too small: a segment begins with the positions of all sources' lanes"
                + " (\(lanes.count), \(size) bytes), which may take an eighth of it; give at least"
                + " \((8 * size + Segment.sealSize + (1 << 20)) >> 20)MiB")
    }

    func commit(_ key: LaneKey, _ lane: StoredLane) {
        lanes.withLock { $0[key] = lane.position.isEmpty ? nil : lane }
    }

    var isEmpty: Bool { lanes.withLock { $0.isEmpty } }

    func positions(of source: String) -> [LanePosition] {
        lanes.withLock { lanes in
            lanes.filter { $0.key.source == source }
                .map { LanePosition(lane: $0.key.lane, position: $0.value.position) }
        }.sorted { $0.lane < $1.lane }
    }

    /// The payload of the batch with which a segment begins; nil if there are no lanes.
    var payload: [UInt8]? {
        lanes.withLock { lanes in
            if lanes.isEmpty { return nil }
            var bytes: [UInt8] = []
            for (key, lane) in lanes.sorted(by: { $0.key < $1.key }) { LaneEntry.append(key, lane, to: &bytes) }
            return bytes
        }
    }
}

/// The ends of the lanes in the append queue: each batch of a lane names the one before it. Guarded by the queue's
/// lock.
struct LaneEnds {
    private var lanes: [LaneKey: UInt64]
    /// The bytes that each source's lanes may take at the beginning of a segment.
    private var sizes: [String: Int] = [:]
    private let limit: Int

    /// - Parameter limit: bytes of all lanes.
    init(_ found: [LaneKey: StoredLane], limit: Int) {
        self.limit = limit
        lanes = found.mapValues(\.end)
        for key in lanes.keys { sizes[key.source, default: 0] += Self.size(key) }
    }

    subscript(key: LaneKey) -> UInt64 { lanes[key] ?? 0 }

    /// Whether there is room for a lane. A lane that is known always has it, whatever its position. One source may take
    /// a quarter, so that it cannot lock out the others.
    func hasRoom(for key: LaneKey) -> Bool {
        if lanes[key] != nil { return true }
        let needed = Self.size(key)
        return (sizes[key.source] ?? 0) + needed <= limit / 4 && sizes.values.reduce(needed, +) <= limit
    }

    mutating func append(_ key: LaneKey, _ lane: StoredLane) {
        if lane.position.isEmpty {
            // A later batch of the lane begins a new chain.
            if lanes.removeValue(forKey: key) != nil { sizes[key.source, default: 0] -= Self.size(key) }
        } else if lanes.updateValue(lane.end, forKey: key) == nil {
            sizes[key.source, default: 0] += Self.size(key)
        }
    }

    /// With the longest position.
    private static func size(_ key: LaneKey) -> Int {
        LaneEntry.size(
            key, StoredLane(position: [UInt8](repeating: 0, count: LanePosition.limit), end: 0))
    }
}
