/// A message to be sent.
package struct FleetMessage: Sendable {
    /// In its batch.
    package var number: Int
    package var partition: Int
    /// The events' indexes in the batch, rising.
    package var events: [Int]
    package var first: FleetPlace
    package var last: FleetPlace
    package var body: [UInt8]

    /// Names the message: the same for the same events alone. A broker may drop a message of a name that it has. The
    /// checksum with which the frame ends is part of it, because the events between the first and the last one may be
    /// others after a change of the configuration.
    package var id: String {
        let checksum = body.suffix(4).reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        return "\(first.text)-\(last.text):\(String(checksum, radix: 16))"
    }

    package init(
        number: Int, partition: Int, events: [Int], first: FleetPlace, last: FleetPlace, body: [UInt8]
    ) {
        self.number = number
        self.partition = partition
        self.events = events
        self.first = first
        self.last = last
        self.body = body
    }
}

/// Makes the messages of a batch. Belongs to one thread at a time.
package final class FleetWriter {
    private struct Group {
        var events: [(place: FleetPlace, receivedAt: Int64)] = []
        var indexes: [Int] = []
        /// The events' JSON, each with a line feed.
        var lines: [UInt8] = []
        /// Where each line ends.
        var ends: [Int] = []
    }

    /// The most bytes of memory that a partition keeps for the next batch.
    private static let kept = 256 << 10

    private let limit: Int
    private let compressor: FleetCompressor
    private var groups: [Group]
    private var used: [Int] = []

    /// - Parameters:
    ///   - partitions: their number, at least 1.
    ///   - limit: the most bytes of a body, compressed.
    package init(partitions: Int, level: Int, limit: Int) {
        self.limit = limit
        compressor = FleetCompressor(level: level)
        groups = Array(repeating: Group(), count: partitions)
    }

    package var partitions: Int { groups.count }

    /// Adds the next event of the batch.
    /// - Parameter payload: JSON without line feeds.
    package func add(
        _ index: Int, to partition: Int, _ place: FleetPlace, receivedAt: Int64, _ payload: UnsafeRawBufferPointer
    ) {
        if groups[partition].events.isEmpty { used.append(partition) }
        groups[partition].events.append((place, receivedAt))
        groups[partition].indexes.append(index)
        unsafe groups[partition].lines.append(contentsOf: payload)
        groups[partition].lines.append(0x0A)
        groups[partition].ends.append(groups[partition].lines.count)
    }

    /// Takes the messages of what was added, those of a partition one after the other.
    /// - Returns: the messages; and the indexes of events that are too large for any message.
    package func finish() -> (messages: [FleetMessage], tooLarge: [Int]) {
        var messages: [FleetMessage] = []
        var tooLarge: [Int] = []
        for partition in used {
            write(groups[partition], 0..<groups[partition].events.count, partition, &messages, &tooLarge)
            if groups[partition].lines.capacity > Self.kept {
                groups[partition] = Group()
                continue
            }
            groups[partition].events.removeAll(keepingCapacity: true)
            groups[partition].indexes.removeAll(keepingCapacity: true)
            groups[partition].lines.removeAll(keepingCapacity: true)
            groups[partition].ends.removeAll(keepingCapacity: true)
        }
        used.removeAll(keepingCapacity: true)
        return (messages, tooLarge)
    }

    /// Halves what is too large.
    private func write(
        _ group: Group, _ range: Range<Int>, _ partition: Int, _ messages: inout [FleetMessage],
        _ tooLarge: inout [Int]
    ) {
        let start = range.lowerBound == 0 ? 0 : group.ends[range.lowerBound - 1]
        var body: [UInt8] = []
        body.reserveCapacity(4 + range.count * 16 + group.ends[range.upperBound - 1] - start)
        FleetBody.append(group.events[range], to: &body)
        body += group.lines[start..<group.ends[range.upperBound - 1]]
        let frame = compressor.compress(body)
        if frame.count <= limit {
            messages.append(
                FleetMessage(
                    number: messages.count, partition: partition, events: Array(group.indexes[range]),
                    first: group.events[range.lowerBound].place, last: group.events[range.upperBound - 1].place,
                    body: frame))
        } else if range.count == 1 {
            tooLarge.append(group.indexes[range.lowerBound])
        } else {
            let middle = range.lowerBound + range.count / 2
            write(group, range.lowerBound..<middle, partition, &messages, &tooLarge)
            write(group, middle..<range.upperBound, partition, &messages, &tooLarge)
        }
    }
}
