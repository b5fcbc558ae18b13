import Platform
import Synchronization

/// A thread that takes events away from a plugin that doesn't settle them in time. The worker can't do this, because it
/// may be blocked inside the plugin.
final class DeadlineWatch: Sendable {
    private let bell = Doorbell()
    private let ended = Atomic(false)
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Throws: the process may not create another thread now.
    init(_ host: PluginHost, _ clock: any Clock) throws(SystemError) {
        let thread = try WorkerThread(trying: "deadline \(host.destination)") { [bell, weak self] in
            while let self, !self.ended.load(ordering: .acquiring) {
                bell.wait(until: host.expire(clock.now()))
            }
        }
        self.thread.withLock { $0 = thread }
    }

    /// Call this when the first deadline is added.
    func wake() { bell.ring() }

    /// Ends the thread and waits for its end. Must not be called on the thread itself.
    func stop() {
        ended.store(true, ordering: .releasing)
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }
}
