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
    private var lanes: [LaneKey: (end: UInt64, size: Int)] = [:]
    /// The bytes that all lanes take at the beginning of a segment.
    private var size = 0
    private let limit: Int

    init(_ found: [LaneKey: StoredLane], limit: Int) {
        self.limit = limit
        for (key, stored) in found { set(key, stored.end, LaneEntry.size(key, stored)) }
    }

    subscript(key: LaneKey) -> UInt64 { lanes[key]?.end ?? 0 }

    /// Whether another lane, or a longer position, still fits into the batch of lanes.
    func hasRoom(for key: LaneKey, _ position: [UInt8]) -> Bool {
        let needed = LaneEntry.size(key, StoredLane(position: position, end: 0))
        return size - (lanes[key]?.size ?? 0) + needed <= limit || position.isEmpty
    }

    mutating func append(_ key: LaneKey, _ lane: StoredLane) {
        if lane.position.isEmpty {
            // A later batch of the lane begins a new chain.
            size -= lanes.removeValue(forKey: key)?.size ?? 0
        } else {
            set(key, lane.end, LaneEntry.size(key, lane))
        }
    }

    private mutating func set(_ key: LaneKey, _ end: UInt64, _ bytes: Int) {
        size += bytes - (lanes[key]?.size ?? 0)
        lanes[key] = (end, bytes)
    }
}
