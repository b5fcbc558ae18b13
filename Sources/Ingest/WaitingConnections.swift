import NIOCore
import Synchronization

/// The connections of one source on one event loop that wait for the journal: for room, or for
/// their acknowledgement. Belongs to its event loop, but for `wake…`, which any thread may call.
final class WaitingConnections: @unchecked Sendable {
    private let loop: any EventLoop
    private var stalled: [ObjectIdentifier: NDJSONConnection] = [:]
    private var unacknowledged: [ObjectIdentifier: NDJSONConnection] = [:]
    /// Says to other threads whether anybody waits for the disk: most clients never do, and then
    /// a commit wakes nobody.
    private let awaitsDisk = Atomic<Bool>(false)
    /// Whether a turn is queued on the loop already: one is enough however many commits pass.
    private let isWoken = Atomic<Bool>(false)
    /// Whether a client waits for room in the journal. Any thread.
    var hasStalled: Bool { stalls.load(ordering: .relaxed) }
    private let stalls = Atomic<Bool>(false)
    private var durableEnd: () -> UInt64 = { 0 }

    init(loop: any EventLoop) {
        self.loop = loop
    }

    /// Keeps or forgets a connection, by what it waits for now.
    func note(_ connection: NDJSONConnection, door: SourceDoor) {
        let id = ObjectIdentifier(connection)
        if connection.isStalled || !stalled.isEmpty {
            stalled[id] = connection.isStalled ? connection : nil
            stalls.store(!stalled.isEmpty, ordering: .relaxed)
        }
        guard connection.isWaitingForDisk else {
            if !unacknowledged.isEmpty { unacknowledged[id] = nil }
            return
        }
        let isNew = unacknowledged.updateValue(connection, forKey: id) == nil
        guard isNew else { return }
        awaitsDisk.store(true, ordering: .sequentiallyConsistent)
        durableEnd = { door.durableEnd }
        // The commit may have passed before the flag stood.
        wakeIfDurable()
    }

    /// The journal committed. Any thread.
    func wakeIfDurable() {
        guard awaitsDisk.load(ordering: .sequentiallyConsistent) else { return }
        guard !isWoken.exchange(true, ordering: .sequentiallyConsistent) else { return }
        loop.execute { self.acknowledge() }
    }

    /// The journal has room again. Any thread.
    func wakeForRoom() {
        loop.execute { self.resume() }
    }

    private func acknowledge() {
        isWoken.store(false, ordering: .sequentiallyConsistent)
        let end = durableEnd()
        for connection in Array(unacknowledged.values) { connection.proceed(durable: end) }
        if unacknowledged.isEmpty { awaitsDisk.store(false, ordering: .sequentiallyConsistent) }
    }

    private func resume() {
        let end = durableEnd()
        for connection in Array(stalled.values) { connection.proceed(durable: end) }
    }
}
