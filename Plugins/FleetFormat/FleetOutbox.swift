/// The messages of one batch on their way to the broker. Those of a partition are sent one after the other, each when
/// the one before is acknowledged: so a later one is never stored without an earlier one. Pure.
package struct FleetOutbox {
    /// By partition, in order. The first of each is on its way.
    private var queues: [Int: [FleetMessage]] = [:]
    /// The partition of each message, by its number.
    private var partitions: [Int: Int] = [:]

    package init() {}

    package var isEmpty: Bool { queues.isEmpty }

    /// Takes the messages of a batch. All earlier ones are settled.
    /// - Returns: those to be sent now.
    package mutating func begin(_ messages: [FleetMessage]) -> [FleetMessage] {
        precondition(queues.isEmpty, "a batch is on its way")
        var first: [FleetMessage] = []
        partitions = [:]
        for message in messages {
            if queues[message.partition] == nil { first.append(message) }
            queues[message.partition, default: []].append(message)
            partitions[message.number] = message.partition
        }
        return first
    }

    /// The broker has stored the message of this number. An answer that comes twice, or for a message that is not on
    /// its way, changes nothing.
    /// - Returns: the indexes of its events, which are delivered; and the message to be sent now.
    package mutating func acknowledge(_ number: Int) -> (delivered: [Int], next: FleetMessage?) {
        guard let partition = partition(ofSent: number), var queue = queues[partition] else { return ([], nil) }
        let message = queue.removeFirst()
        queues[partition] = queue.isEmpty ? nil : queue
        return (message.events, queue.first)
    }

    /// The message of this number is not stored, or nobody knows.
    /// - Returns: the indexes of its partition's events that are not delivered: all of them must be sent again, in
    ///   order, before any later event of the partition.
    package mutating func fail(_ number: Int) -> [Int] {
        partition(ofSent: number).flatMap { queues.removeValue(forKey: $0) }?.flatMap(\.events) ?? []
    }

    /// Nobody knows which messages are stored.
    /// - Returns: the indexes of all events that are not delivered.
    package mutating func failAll() -> [Int] {
        defer { queues = [:] }
        return queues.values.flatMap { $0.flatMap(\.events) }
    }

    /// nil: the message is not on its way.
    private func partition(ofSent number: Int) -> Int? {
        partitions[number].flatMap { queues[$0]?.first?.number == number ? $0 : nil }
    }
}
