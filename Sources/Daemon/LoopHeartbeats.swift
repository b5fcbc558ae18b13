import NIOCore
import Synchronization

/// Counts that grow once a second as long as the event loops turn. Any thread.
final class LoopHeartbeats: Sendable {
    private final class Beat: Sendable {
        let count = Atomic<UInt64>(0)
    }

    private let loops: [Beat]

    init(_ group: any EventLoopGroup) {
        loops = group.makeIterator().map { loop in
            let beat = Beat()
            loop.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(1)) { _ in
                beat.count.wrappingAdd(1, ordering: .relaxed)
            }
            return beat
        }
    }

    var beats: [UInt64] { loops.map { $0.count.load(ordering: .relaxed) } }
}
