/// One partition of a topic: what a source reads in order.
struct KafkaPartition: Hashable, Comparable, Sendable {
    var topic: String
    var number: Int32

    /// The name under which the host keeps the position: `topic/number`. A name has at most 64 bytes, a topic's up to
    /// 249: the end of a longer one becomes `~` and 16 digits, a hash of the whole topic. No topic has a `~`.
    var positionName: String {
        let end = "/\(number)"
        let longest = 64 - end.utf8.count
        guard topic.utf8.count > longest else { return topic + end }
        let digits = String(Self.hash(topic), radix: 16)
        let hash = "~" + String(repeating: "0", count: 16 - digits.count) + digits
        return String(decoding: topic.utf8.prefix(longest - hash.utf8.count), as: UTF8.self) + hash + end
    }

    static func < (left: KafkaPartition, right: KafkaPartition) -> Bool {
        (left.topic, left.number) < (right.topic, right.number)
    }

    /// FNV-1a: stored positions depend on it, so it never changes.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
