import NIOCore
import Synchronization

/// A counter for each event loop that grows once a second while the loop runs. Any thread.
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
