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
    }

    private var known: [LaneKey: StoredLane] = [:]
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

    /// Notes a batch of events that ends with a lane.
    mutating func note(_ record: LaneRecord, _ header: BatchHeader, of source: String, durable: UInt64) {
        let key = LaneKey(source: source, lane: record.lane.lane)
        let lane = record.stored(end: header.endPosition, isEmpty: header.count == 0)
        let isLinked = record.previousEnd <= durable || record.previousEnd == known[key]?.end ?? 0
        // After an uncertain one, every record is: it may begin a new chain, because the lane was forgotten between.
        if isLinked && uncertain[key] == nil || !checksChain {
            known[key] = lane
            uncertain[key] = nil
        } else {
            uncertain[key] = Uncertain(
                needed: max(record.previousEnd, uncertain[key]?.needed ?? 0), lane: lane)
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
