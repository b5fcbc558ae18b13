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
///
/// The events are grouped by their partitions first, and each message's body is gathered only when it is compressed:
/// so the body is still in the processor's cache, and one buffer serves all messages.
///
/// Unsafe part: between `add` and `finish` it holds pointers to the events' bytes.
@safe package final class FleetWriter {
    @unsafe private struct Entry {
        let index: Int
        let partition: Int
        let place: FleetPlace
        let receivedAt: Int64
        let payload: UnsafeRawBufferPointer
    }

    /// The most bytes of a body whose memory is kept for the next one.
    private static let kept = 2 << 20

    package let partitions: Int
    private let limit: Int
    private let compressor: FleetCompressor
    private var entries: [Entry] = unsafe []
    /// Indexes of `entries`, those of a partition one after the other.
    private var order: [Int] = []
    /// Where each partition's part of `order` ends.
    private var ends: [Int] = []
    private var body: [UInt8] = []

    /// - Parameters:
    ///   - partitions: their number, at least 1.
    ///   - level: of zstd; nil: what suits events best.
    ///   - limit: the most bytes of a body, compressed.
    package init(partitions: Int, level: Int?, limit: Int) {
        self.partitions = partitions
        self.limit = limit
        compressor = FleetCompressor(level: level)
    }

    /// Adds the next event of the batch.
    /// - Parameter payload: JSON without line feeds; must stay valid until `finish` has returned.
    package func add(
        _ index: Int, to partition: Int, _ place: FleetPlace, receivedAt: Int64, _ payload: UnsafeRawBufferPointer
    ) {
        precondition(partition >= 0 && partition < partitions, "there is no partition \(partition)")
        unsafe entries.append(
            Entry(index: index, partition: partition, place: place, receivedAt: receivedAt, payload: payload))
    }

    /// Takes the messages of what was added, those of a partition one after the other.
    /// - Returns: the messages; and the indexes of events that are too large for any message.
    package func finish() -> (messages: [FleetMessage], tooLarge: [Int]) {
        var messages: [FleetMessage] = []
        var tooLarge: [Int] = []
        group()
        var start = 0
        for end in ends where end > start {
            write(start..<end, &messages, &tooLarge)
            start = end
        }
        unsafe entries.removeAll(keepingCapacity: true)
        if body.capacity > Self.kept { body = [] }
        return (messages, tooLarge)
    }

    /// Sorts the entries by partition, in linear time. Those of a partition keep their order.
    private func group() {
        ends = Array(repeating: 0, count: partitions)
        for index in unsafe entries.indices { unsafe ends[entries[index].partition] += 1 }
        var start = 0
        for partition in ends.indices {
            let count = ends[partition]
            ends[partition] = start
            start += count
        }
        order = unsafe Array(repeating: 0, count: entries.count)
        // Each start moves to the end of its part.
        for index in unsafe entries.indices {
            let partition = unsafe entries[index].partition
            order[ends[partition]] = index
            ends[partition] += 1
        }
    }

    /// Writes the message of a part of `order`. Halves what is too large.
    private func write(_ range: Range<Int>, _ messages: inout [FleetMessage], _ tooLarge: inout [Int]) {
        let frame = frame(range)
        let (first, last) = unsafe (entries[order[range.lowerBound]], entries[order[range.upperBound - 1]])
        if frame.count <= limit {
            messages.append(
                FleetMessage(
                    number: messages.count, partition: unsafe first.partition,
                    events: order[range].map { unsafe entries[$0].index },
                    first: unsafe first.place, last: unsafe last.place, body: frame))
        } else if range.count == 1 {
            tooLarge.append(unsafe first.index)
        } else {
            let middle = range.lowerBound + range.count / 2
            write(range.lowerBound..<middle, &messages, &tooLarge)
            write(middle..<range.upperBound, &messages, &tooLarge)
        }
    }

    /// The compressed body of a part of `order`.
    private func frame(_ range: Range<Int>) -> [UInt8] {
        // A local: each access to a stored property is checked.
        var body: [UInt8] = []
        swap(&body, &self.body)
        defer { self.body = body }
        body.removeAll(keepingCapacity: true)
        FleetBody.append(
            order[range].lazy.map { unsafe (self.entries[$0].place, self.entries[$0].receivedAt) }, to: &body)
        for index in order[range] {
            unsafe body.append(contentsOf: entries[index].payload)
            body.append(0x0A)
        }
        return compressor.compress(body.span)
    }
}
