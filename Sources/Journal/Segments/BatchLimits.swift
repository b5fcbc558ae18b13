import Events

/// The maximum sizes of batches and records.
struct BatchLimits: Sendable {
    /// The maximum of bytes in a batch with more than one record: a reader verifies whole batches, and holds at least
    /// one in memory.
    let batch: Int
    /// The maximum size of a record with its batch's header.
    let record: Int

    init(segmentSize: Int) {
        let capacity = segmentSize - Segment.sealSize
        // Several batches fit into a segment; with larger ones its end would be wasted.
        batch = min(256 << 10, capacity / 8)
        // A segment may begin with a batch of lanes and one of marks.
        let tables = LaneTable.limit(segmentSize: segmentSize) + MarkTable.limit(segmentSize: segmentSize)
        record = min(16 << 20, capacity - tables - 2 * BatchHeader.size)
    }

    /// The maximum of bytes that events may need in a buffer, and the size of the largest one with its batch's header.
    /// - Parameter lane: the bytes of the position of the events' lane, with which all of them go into one batch; nil:
    ///   they belong to no lane.
    /// - Returns: nil if an event does not lie within the bytes.
    func space(
        for events: Span<ScannedEvent>, in byteCount: Int, source: String, lane: Int?
    ) -> (total: Int, largest: Int)? {
        var total = 0
        var largest = 0
        for index in events.indices {
            let length = Int(events[index].length)
            guard Int(events[index].offset) + length <= byteCount else { return nil }
            total += RecordLayout.size(length)
            largest = max(largest, RecordLayout.size(length))
        }
        let head = BatchHeader.size + source.utf8.count.paddedTo8
        if let lane {
            total += head + lane
            return (total, total)
        }
        // Two successive batches are together larger than the limit.
        return (total + (2 * total / batch + 2) * head, largest + head)
    }
}
