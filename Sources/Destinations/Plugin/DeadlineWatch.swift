import Platform
import Synchronization

/// The thread that takes events away from a plugin that does not settle them in time. It cannot be
/// the worker: that one may be inside the plugin.
final class DeadlineWatch: Sendable {
    private let bell = Doorbell()
    private let ended = Atomic(false)
    private let thread = Mutex<WorkerThread?>(nil)

    init(_ host: PluginHost, _ clock: any Clock) {
        let thread = WorkerThread(name: "deadline \(host.destination)") { [bell, weak self] in
            while let self, !self.ended.load(ordering: .acquiring) {
                bell.wait(until: host.expire(clock.now()))
            }
        }
        self.thread.withLock { $0 = thread }
    }

    /// A deadline was added where there was none.
    func wake() { bell.ring() }

    /// Returns when the thread has ended. Not from the thread itself.
    func stop() {
        ended.store(true, ordering: .releasing)
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }
}
