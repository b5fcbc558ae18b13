/// Where reading of a partition begins.
struct KafkaStart: Equatable {
    /// Where a partition without any position begins.
    enum Policy: String, Decodable { case earliest, latest }

    /// What is not read although it was never stored.
    enum Loss: Equatable {
        /// The log has deleted these messages, or some of them: a compacted log has holes.
        case deleted(offsets: Int64)
        /// The log is shorter than the position: the topic was deleted and created again, or a broker lost its end.
        case unknown(position: Int64)
    }

    /// The bounds of a partition's log: the first offset, and the one behind the last message.
    struct Log: Equatable {
        var first: Int64
        var end: Int64
    }

    /// The offset of the next message.
    var offset: Int64
    var loss: Loss?

    /// - Parameters:
    ///   - stored: the journal's position.
    ///   - committed: the group's offset. It is above `stored` if another member has read on meanwhile.
    init(stored: Int64?, committed: Int64?, log: Log, policy: Policy) {
        guard let position = [stored, committed].compactMap(\.self).max() else {
            offset = policy == .earliest ? log.first : log.end
            return
        }
        if position > log.end {
            offset = log.first
            loss = .unknown(position: position)
        } else if position < log.first {
            offset = log.first
            loss = .deleted(offsets: log.first - position)
        } else {
            offset = position
        }
    }

    /// A position as the journal holds it: the offset of the next message.
    static func offset(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}
