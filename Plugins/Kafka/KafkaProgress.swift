import Synchronization

/// What the threads of a source share.
final class KafkaProgress: Sendable {
    enum Phase { case reading, stopped, ended }

    private struct State {
        var phase = Phase.reading
        var durable: [KafkaPartition: Int64] = [:]
    }

    private let state = Mutex(State())

    var phase: Phase {
        get { state.withLock(\.phase) }
        set { state.withLock { $0.phase = newValue } }
    }

    /// The offsets below it are durable in the host's journal.
    subscript(partition: KafkaPartition) -> Int64? {
        get { state.withLock { $0.durable[partition] } }
        set { state.withLock { $0.durable[partition] = newValue } }
    }
}
