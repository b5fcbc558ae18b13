import Events

/// The lanes that recovery finds while it reads batches in their order.
///
/// A lane's position must never be ahead of its events. Of an interrupted commit, any batches can have reached the
/// disk. If one is missing, the positions of that lane in later batches of the commit do not count: the source offers
/// those events again.
struct FoundLanes {
    private struct Uncertain {
        /// Counts if everything below was durable once.
        var needed: UInt64
        var lane: StoredLane
        /// The marks in the batches, each with the position after its batch.
        var marks: [(OriginMark, end: UInt64)]
    }

    private var known: [LaneKey: StoredLane] = [:]
    /// The marks of the lanes, as far as the lanes' positions count.
    private(set) var marks = MarkTable()
    private var uncertain: [LaneKey: Uncertain] = [:]
    private let checksChain: Bool

    init(_ protections: Protections) {
        checksChain = protections.contains(.laneChain)
    }

    /// The lanes, without those that were forgotten.
    var lanes: [LaneKey: StoredLane] { known.filter { !$0.value.position.isEmpty } }

    /// Notes the position below which everything was durable when the next batch was written.
    mutating func note(durable: UInt64) {
        guard !uncertain.isEmpty else { return }
        for (key, found) in uncertain where found.needed <= durable {
            known[key] = found.lane
            for (mark, end) in found.marks { marks.note(key, mark, end: end) }
            uncertain[key] = nil
        }
    }

    /// Notes the batch of lanes at the beginning of a segment. It replaces what earlier segments say.
    mutating func note(table bytes: RawSpan) {
        known = [:]
        uncertain = [:]
        var place = 0
        while let (key, stored, size) = LaneEntry.read(bytes, at: place) {
            known[key] = stored
            place += size
        }
    }

    /// Notes the batch of marks behind the batch of lanes.
    mutating func note(marks bytes: RawSpan) {
        marks = MarkTable()
        var place = 0
        while let next = MarkEntry.read(bytes, at: place, into: &marks) { place = next }
    }

    /// Notes a batch of events that ends with a lane.
    mutating func note(_ record: LaneRecord, _ header: BatchHeader, of source: String, durable: UInt64) {
        let key = LaneKey(source: source, lane: record.lane.lane)
        let lane = record.stored(end: header.endPosition, isEmpty: header.count == 0)
        let isLinked = record.previousEnd <= durable || record.previousEnd == known[key]?.end ?? 0
        // After an uncertain one, every record is: it may begin a new chain, because the lane was forgotten between.
        if isLinked && uncertain[key] == nil || !checksChain {
            known[key] = lane
            if let mark = record.lane.mark { marks.note(key, mark, end: header.endPosition) }
            uncertain[key] = nil
        } else {
            let earlier = uncertain[key]
            uncertain[key] = Uncertain(
                needed: max(record.previousEnd, earlier?.needed ?? 0), lane: lane,
                marks: (earlier?.marks ?? []) + (record.lane.mark.map { [($0, header.endPosition)] } ?? []))
        }
    }

    /// Drops what is not certain to follow the lane's earlier events.
    /// - Parameter durable: the position below which everything was durable.
    /// - Returns: whether something was dropped.
    @discardableResult
    mutating func finish(durable: UInt64) -> Bool {
        note(durable: durable)
        defer { uncertain = [:] }
        return !uncertain.isEmpty
    }
}
