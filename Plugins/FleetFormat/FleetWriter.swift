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
        /// Bytes before the first line, so that the table of the whole group can be put there.
        static let gap = 8 << 10

        var events: [(place: FleetPlace, receivedAt: Int64)] = []
        var indexes: [Int] = []
        /// The gap, then the events' JSON, each with a line feed.
        var lines = [UInt8](repeating: 0, count: gap)
        /// Where each line ends.
        var ends: [Int] = []

        mutating func removeAll() {
            events.removeAll(keepingCapacity: true)
            indexes.removeAll(keepingCapacity: true)
            lines.removeLast(lines.count - Self.gap)
            ends.removeAll(keepingCapacity: true)
        }
    }

    /// The most bytes of memory that all partitions keep for the next batch.
    private static let kept = 16 << 20
    /// What each keeps in any case.
    private static let alwaysKept = 64 << 10

    private let limit: Int
    private let compressor: FleetCompressor
    private var groups: [Group]
    private var used: [Int] = []
    private var table: [UInt8] = []

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
            write(0..<groups[partition].events.count, of: partition, &messages, &tooLarge)
            if groups[partition].lines.capacity > max(Self.kept / partitions, Self.alwaysKept) {
                groups[partition] = Group()
                continue
            }
            groups[partition].removeAll()
        }
        used.removeAll(keepingCapacity: true)
        return (messages, tooLarge)
    }

    /// Halves what is too large.
    private func write(
        _ range: Range<Int>, of partition: Int, _ messages: inout [FleetMessage], _ tooLarge: inout [Int]
    ) {
        let frame = frame(&groups[partition], range)
        let group = groups[partition]
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
            write(range.lowerBound..<middle, of: partition, &messages, &tooLarge)
            write(middle..<range.upperBound, of: partition, &messages, &tooLarge)
        }
    }

    /// The compressed body of some of a group's events.
    private func frame(_ group: inout Group, _ range: Range<Int>) -> [UInt8] {
        table.removeAll(keepingCapacity: true)
        FleetBody.append(group.events[range], to: &table)
        let start = range.lowerBound == 0 ? Group.gap : group.ends[range.lowerBound - 1]
        let end = group.ends[range.upperBound - 1]
        // Mostly the table fits into the gap, and the lines need not be copied behind it.
        guard range.lowerBound == 0, table.count <= Group.gap else {
            let body = table + group.lines[start..<end]
            return compressor.compress(body.span)
        }
        let place = Group.gap - table.count
        for (index, byte) in table.enumerated() { group.lines[place + index] = byte }
        return compressor.compress(group.lines.span.extracting(place..<end))
    }
}
