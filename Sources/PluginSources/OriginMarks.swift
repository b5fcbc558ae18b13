import Events

/// How far each lane of a source has brought in the events of each origin: what the journal holds durably, and what was
/// appended since. Belongs to the source's worker.
package struct OriginMarks {
    private struct Key: Hashable {
        /// Bytes, because strings with other bytes may be equal.
        var lane: [UInt8]
        var origin: OriginID
    }

    private struct Appended {
        var place: OriginPlace
        var end: UInt64
    }

    private let stored: (_ lane: String, _ origin: OriginID) -> OriginPlace?
    /// Marks that may not be durable. The window of offers bounds their number.
    private var appended: [Key: Appended] = [:]
    /// How many there may be before those that are durable are looked for.
    private var limit = 64

    /// - Parameter stored: what the journal holds durably.
    package init(stored: @escaping (_ lane: String, _ origin: OriginID) -> OriginPlace?) {
        self.stored = stored
    }

    /// nil: nothing is known of the origin.
    package func mark(of lane: String, _ origin: OriginID) -> OriginPlace? {
        // What was appended is never behind what is stored.
        appended[Key(lane: Array(lane.utf8), origin: origin)]?.place ?? stored(lane, origin)
    }

    /// Notes the mark of an offer that was appended.
    /// - Parameters:
    ///   - end: it is stored once the journal's durable end has reached this position.
    ///   - durable: the durable end.
    package mutating func note(_ lane: LanePosition, end: UInt64, durable: UInt64) {
        guard let mark = lane.mark else { return }
        appended[Key(lane: Array(lane.lane.utf8), origin: mark.origin)] = Appended(place: mark.place, end: end)
        guard appended.count > limit else { return }
        appended = appended.filter { $0.value.end > durable }
        limit = max(64, appended.count * 2)
    }
}
