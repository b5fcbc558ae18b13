import FleetFormat
import PenstockPluginKit

/// A lane of the source: the messages of a stream with one subject filter, in the stream's order. Any thread.
final class NATSLane: Sendable {
    struct State {
        var progress = LaneProgress()
        /// The messages in the stream that the consumer has not delivered yet.
        var behind: UInt64 = 0
        /// Where the last stored message is acknowledged.
        var reply: String?
        /// Since when every question for the consumer has gone unanswered; nil: the last one was answered.
        var silentSince: ContinuousClock.Instant?
    }

    /// `STREAM` or `STREAM/filter`: sequences of another stream would be other messages.
    let name: String
    /// nil: the whole stream.
    let filter: String?
    /// For log lines.
    var subject: String { filter ?? ">" }
    /// The name of its durable consumer.
    let consumer: String
    /// The key of its lease.
    let key: String
    private let state = Monitor(State())

    init(_ settings: NATSSourceSettings, filter: String?) {
        self.filter = filter
        let full = filter.map { "\(settings.stream)/\($0)" } ?? settings.stream
        name = Self.shortened(full, to: Lane.maximumLength)
        let isAlone = settings.subjects.map { $0.count <= 1 } ?? true
        consumer = isAlone ? settings.consumer : "\(settings.consumer)-\(Self.hash(filter ?? ""))"
        // A bucket's keys have fewer characters than names of streams.
        let key = "\(settings.stream).\(consumer)"
        let isKey = key.utf8.allSatisfy { NATSSourceSettings.isAlphanumeric($0) || "-_.".utf8.contains($0) }
        self.key = isKey ? key : "h.\(Self.hash(key))"
    }

    /// The lanes of a source.
    static func all(_ settings: NATSSourceSettings) -> [NATSLane] {
        guard let subjects = settings.subjects else { return [NATSLane(settings, filter: nil)] }
        return subjects.map { NATSLane(settings, filter: $0) }
    }

    var progress: LaneProgress { state.withLock(\.progress) }
    var behind: UInt64 { state.withLock(\.behind) }
    var reply: String? { state.withLock(\.reply) }

    /// Somebody has answered for the consumer, or nobody asks for a while: silence begins anew.
    func endSilence() { state.withLock { $0.silentSince = nil } }

    /// Nobody has answered for the consumer.
    /// - Returns: whether that is so for this time at least. The time then begins anew.
    func consumerIsSilent(for time: Duration) -> Bool {
        state.withLock { state in
            let since = state.silentSince ?? .now
            let isLong = .now - since >= time
            state.silentSince = isLong ? nil : since
            return isLong
        }
    }

    /// All messages up to this one are stored.
    func begin(at sequence: UInt64) {
        state.change { $0.progress.begin(at: sequence) }
    }

    func took(_ sequence: UInt64, behind: UInt64) {
        state.withLock { state in
            state.progress.took(sequence)
            state.behind = behind
        }
    }

    func stored(_ sequence: UInt64, reply: String?) {
        state.change { state in
            state.progress.stored(sequence)
            state.reply = reply ?? state.reply
        }
    }

    /// Waits until everything that the host has taken is stored.
    /// - Returns: false: the time has passed.
    func isStored(within time: Duration) -> Bool {
        state.wait(time) { $0.progress.isStored ? true : nil } ?? false
    }

    /// A text that is too long keeps its beginning, and its hash makes it unique.
    static func shortened(_ text: String, to length: Int) -> String {
        guard text.utf8.count > length else { return text }
        var start = text.prefix(length)
        while start.utf8.count > length - 17 { start.removeLast() }
        return "\(start)#\(hash(text))"
    }

    /// FNV-1a of 64 bits, in 16 hexadecimal digits: the same on every host.
    static func hash(_ text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
