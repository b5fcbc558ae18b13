/// The messages of one batch on their way to the broker. Those of a partition are sent one after the other, each when
/// the one before is acknowledged: so a later one is never stored without an earlier one. Pure.
package struct FleetOutbox {
    /// By partition, in order. The first of each is on its way.
    private var queues: [Int: [FleetMessage]] = [:]

    package init() {}

    package var isEmpty: Bool { queues.isEmpty }

    /// Takes the messages of a batch. All earlier ones are settled.
    /// - Returns: those to be sent now.
    package mutating func begin(_ messages: [FleetMessage]) -> [FleetMessage] {
        precondition(queues.isEmpty, "a batch is on its way")
        var first: [FleetMessage] = []
        for message in messages {
            if queues[message.partition] == nil { first.append(message) }
            queues[message.partition, default: []].append(message)
        }
        return first
    }

    /// The broker has stored the partition's message.
    /// - Returns: the indexes of its events, which are delivered; and the message to be sent now.
    package mutating func acknowledge(_ partition: Int) -> (delivered: [Int], next: FleetMessage?) {
        guard var queue = queues[partition] else { return ([], nil) }
        let message = queue.removeFirst()
        queues[partition] = queue.isEmpty ? nil : queue
        return (message.events, queue.first)
    }

    /// The partition's message is not stored, or nobody knows.
    /// - Returns: the indexes of the partition's events that are not delivered: all of them must be sent again, in
    ///   order, before any later event of the partition.
    package mutating func fail(_ partition: Int) -> [Int] {
        queues.removeValue(forKey: partition)?.flatMap(\.events) ?? []
    }
}
