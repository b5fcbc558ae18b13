import PenstockPluginKit

/// What the reading thread knows of a partition that it reads.
final class KafkaLane {
    let partition: KafkaPartition
    /// The name of its position.
    let name: String
    /// The offset of the next message.
    var next: Int64
    /// The group's offset as far as this member knows; nil: none, or a commit has failed.
    var committed: Int64?
    /// What is read and not yet passed on.
    var batch = EventBuffer()
    /// The offset of each event in `batch`.
    var offsets: [Int64] = []
    /// `next` when a batch was passed on last; nil: the journal does not have the position yet.
    var end: Int64?
    /// When `end` was set.
    var changed: ContinuousClock.Instant
    /// Moves to another member: reads no more.
    var isRevoked = false
    /// The host has a part of a message, and not all of it. Then the rest follows before another member reads on.
    var isInsideMessage = false
    /// Whether it is in the reader's list of partitions to be passed on.
    var isListed = false

    init(_ partition: KafkaPartition, name: String, next: Int64, end: Int64?, committed: Int64?) {
        self.partition = partition
        self.name = name
        self.next = next
        self.end = end
        self.committed = committed
        changed = .now
    }

    /// A part of a message.
    /// - Parameter isLast: the position moves behind the message.
    func batch(of events: EventBuffer, at offset: Int64, isLast: Bool) -> KafkaBatch {
        KafkaBatch(
            lane: self, events: events,
            receipt: KafkaReceipt(
                partition: partition, offsets: Array(repeating: offset, count: events.count),
                end: isLast ? offset + 1 : offset),
            isPart: !isLast)
    }

    /// Everything up to this offset was passed on.
    func passedOn(_ next: Int64) {
        self.next = next
        end = next
        changed = .now
    }

    /// Takes what is read out of it.
    func takeBatch() -> KafkaBatch {
        defer {
            batch = EventBuffer()
            offsets = []
            passedOn(next)
        }
        return KafkaBatch(
            lane: self, events: batch, receipt: KafkaReceipt(partition: partition, offsets: offsets, end: next))
    }
}

/// Events of a partition, on their way to the host.
struct KafkaBatch {
    var lane: KafkaLane
    var events: EventBuffer
    var receipt: KafkaReceipt
    /// More parts of the same message follow.
    var isPart = false
}

/// What is known of an offer until it is durable.
struct KafkaReceipt: Sendable {
    var partition: KafkaPartition
    /// Of each event.
    var offsets: [Int64]
    /// The offset of the next message.
    var end: Int64
}
