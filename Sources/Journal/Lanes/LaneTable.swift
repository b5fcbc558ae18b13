import Events
import Platform
import Synchronization

/// The lanes of all sources and their marks, as far as their events are committed. Any thread; only the writer changes
/// it.
final class LaneTable: Sendable {
    private struct State {
        var lanes: [LaneKey: StoredLane]
        var marks: MarkTable
    }

    private let state: Mutex<State>
    private let markLimit: Int

    init(_ found: FoundLanes?, segmentSize: Int) {
        markLimit = MarkTable.limit(segmentSize: segmentSize)
        var marks = found?.marks ?? MarkTable()
        // The segments may have been larger.
        marks.evict(above: markLimit)
        state = Mutex(State(lanes: found?.lanes ?? [:], marks: marks))
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

    /// - Parameters:
    ///   - mark: the one in the lane's batch.
    ///   - end: the position after the batch.
    func commit(_ key: LaneKey, _ lane: StoredLane, _ mark: OriginMark?, end: UInt64) {
        state.withLock { state in
            state.lanes[key] = lane.position.isEmpty ? nil : lane
            guard let mark else { return }
            state.marks.note(key, mark, end: end)
            state.marks.evict(above: markLimit)
        }
    }

    var isEmpty: Bool { state.withLock { $0.lanes.isEmpty && $0.marks.isEmpty } }

    func mark(of key: LaneKey, _ origin: OriginID) -> OriginPlace? { state.withLock { $0.marks[key, origin] } }

    var markCounts: (stored: Int, evicted: UInt64) { state.withLock { ($0.marks.count, $0.marks.evicted) } }

    func positions(of source: String) -> [LanePosition] {
        state.withLock { state in
            state.lanes.filter { $0.key.source == source }
                .map { LanePosition(lane: $0.key.lane, position: $0.value.position) }
        }.sorted { $0.lane < $1.lane }
    }

    /// The payloads of the batches with which a segment begins: the lanes, and their marks if there are any; nil if
    /// there are neither.
    var payloads: (lanes: [UInt8], marks: [UInt8]?)? {
        state.withLock { state in
            if state.lanes.isEmpty, state.marks.isEmpty { return nil }
            var lanes: [UInt8] = []
            for (key, lane) in state.lanes.sorted(by: { $0.key < $1.key }) {
                LaneEntry.append(key, lane, to: &lanes)
            }
            if state.marks.isEmpty { return (lanes, nil) }
            var marks: [UInt8] = []
            for (key, origins) in state.marks.lanes.sorted(by: { $0.key < $1.key }) {
                MarkEntry.append(key, origins, to: &marks)
            }
            return (lanes, marks)
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
