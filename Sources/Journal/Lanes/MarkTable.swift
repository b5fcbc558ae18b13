import Events

/// A mark as the journal stores it.
struct StoredMark: Equatable {
    var place: OriginPlace
    /// When it was used last: a larger number is later. At least the journal's position after the batch with the mark.
    var used: UInt64
}

/// The marks of all lanes: how far each has brought in the events of each origin. When there are too many, those go
/// that were not used for the longest time: if old messages of such an origin come again, their events repeat.
struct MarkTable {
    private(set) var lanes: [LaneKey: [OriginID: StoredMark]] = [:]
    private(set) var count = 0
    /// The size of the payload of a batch with all marks.
    private(set) var byteCount = 0
    /// How many marks had to go.
    private(set) var evicted: UInt64 = 0
    private var lastUsed: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    /// The maximum size of the payload of a batch of marks in a segment of this size.
    static func limit(segmentSize: Int) -> Int { (segmentSize - Segment.sealSize) / 16 }

    subscript(key: LaneKey, origin: OriginID) -> OriginPlace? { lanes[key]?[origin]?.place }

    /// Moves a mark on. It never goes back.
    /// - Parameter end: the journal's position after the batch with the mark.
    mutating func note(_ key: LaneKey, _ mark: OriginMark, end: UInt64) {
        let old = lanes[key]?[mark.origin]
        // Batches without events have the same end.
        lastUsed = max(lastUsed &+ 1, end)
        insert(
            key, mark.origin, StoredMark(place: max(old?.place ?? mark.place, mark.place), used: lastUsed))
    }

    /// Sets a mark, for example to what the table of a segment says.
    mutating func insert(_ key: LaneKey, _ origin: OriginID, _ stored: StoredMark) {
        if lanes[key] == nil { byteCount += MarkEntry.headerSize(key) }
        lastUsed = max(lastUsed, stored.used)
        guard lanes[key, default: [:]].updateValue(stored, forKey: origin) == nil else { return }
        count += 1
        byteCount += MarkEntry.markSize
    }

    /// Forgets the marks that were not used for the longest time, an eighth of them or more, if their size is above the
    /// limit.
    mutating func evict(above limit: Int) {
        guard byteCount > limit else { return }
        var all = lanes.flatMap { key, marks in marks.map { (used: $0.value.used, key: key, origin: $0.key) } }
        all.sort { $0.used < $1.used }
        for mark in all {
            if byteCount <= limit - limit / 8 { break }
            lanes[mark.key]?[mark.origin] = nil
            evicted += 1
            count -= 1
            byteCount -= MarkEntry.markSize
            guard lanes[mark.key]?.isEmpty == true else { continue }
            lanes[mark.key] = nil
            byteCount -= MarkEntry.headerSize(mark.key)
        }
    }
}
