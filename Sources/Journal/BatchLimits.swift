import Events

/// How long batches and records may be.
struct BatchLimits: Sendable {
    /// Bytes that a batch may have, unless it holds one record only: a reader verifies batches whole,
    /// and holds at least one in memory.
    let batch: Int
    /// The largest record, its batch's header included.
    let record: Int

    init(segmentSize: Int) {
        let capacity = segmentSize - Segment.sealSize
        // Several fit into a segment, or its end would be wasted.
        batch = min(256 << 10, capacity / 8)
        record = min(16 << 20, capacity)
    }

    /// What events may need in a buffer, at most, and the largest of them with its batch's header.
    /// - Returns: nil if an event does not lie within the bytes.
    func space(for events: Span<ScannedEvent>, in byteCount: Int, source: String) -> (total: Int, largest: Int)? {
        var total = 0
        var largest = 0
        for index in events.indices {
            let length = Int(events[index].length)
            guard Int(events[index].offset) + length <= byteCount else { return nil }
            total += RecordLayout.size(length)
            largest = max(largest, RecordLayout.size(length))
        }
        let head = BatchHeader.size + source.utf8.count.paddedTo8
        // Two batches that follow one another are together longer than the limit.
        return (total + (2 * total / batch + 2) * head, largest + head)
    }
}
