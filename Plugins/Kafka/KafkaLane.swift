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

    /// Takes what is read out of it.
    func takeBatch() -> KafkaBatch {
        defer {
            batch = EventBuffer()
            offsets = []
            end = next
            changed = .now
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
}

/// What is known of an offer until it is durable.
struct KafkaReceipt: Sendable {
    var partition: KafkaPartition
    /// Of each event.
    var offsets: [Int64]
    /// The offset of the next message.
    var end: Int64
}
