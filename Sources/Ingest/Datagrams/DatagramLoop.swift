import Platform
import Synchronization

/// The thread that reads the datagram sockets of all sources.
///
/// The sockets take turns. A turn is one `recvmmsg` (`DatagramListener`), so a busy socket delays the others by at most
/// that. While the journal is busy, no socket is read: the kernel's queues fill, and senders wait or get EAGAIN.
///
/// Unlike `ClientLoop`, it does not rest after refusals. All users share a socket's queue, so a rest would hold up the
/// datagrams of well-behaved users. Stream clients have threads of their own. Refusing a flood of short datagrams takes
/// less than one processor (measured: 0.4 to 0.5, at 240,000 to 310,000 datagrams per second).
final class DatagramLoop: @unchecked Sendable {
    /// Requests from other threads.
    enum Order: Sendable {
        case listen(DatagramListener, id: UInt64)
        /// Stops reading. Messages that wait for room in the journal are still offered to it.
        case stopListening(id: UInt64, done: Doorbell)
        /// Takes no new messages, and stops reading when those that are there are processed.
        case finish(id: UInt64, done: Doorbell)
        /// Rings the doorbell once this loop has read all of its sockets.
        case turn(Doorbell)
        case stop
    }

    private struct Entry {
        var listener: DatagramListener
        /// Rung when the entry ends.
        var done: [Doorbell] = []
        /// Whether messages may be there.
        var isReady = true
        /// It ends once the journal has taken what was received; nothing more is received.
        var endsAfterTurn = false
        /// Reads until the socket is empty, then ends.
        var isFinishing = false
        /// The socket could not be read, and is tried again at this time.
        var pausedUntil: Instant?
        /// epoll could not watch the socket, because the kernel was out of memory. It is polled instead.
        var isUnwatched = false
    }

    /// How long a socket rests that could not be read.
    private static let pause = Duration.milliseconds(50)

    private let poll: SocketPoll
    private let clock: any Clock
    private let orders = Mutex<[Order]>([])
    private let hasRoom = Atomic<Bool>(false)

    /// Grows while the thread works. Odd: it works; even: it sleeps. Any thread.
    var heartbeat: UInt64 { beats.load(ordering: .relaxed) }
    private let beats = Atomic<UInt64>(1)
    /// Whether messages wait for the journal or for their turn. Any thread.
    var isBusy: Bool { busy.load(ordering: .relaxed) }
    private let busy = Atomic<Bool>(false)

    // The state below belongs to the loop's own thread.
    private var entries: [UInt64: Entry] = [:]
    /// The listener that found the journal busy. It continues first, and no other one is served before.
    private var stalled: UInt64?
    private var found: [SocketPoll.Readiness] = []
    private var bells: [Doorbell] = []
    private var isStopping = false

    init(clock: any Clock) throws(SystemError) {
        poll = try SocketPoll()
        self.clock = clock
    }

    /// Any thread.
    func post(_ order: Order) {
        orders.withLock { $0.append(order) }
        poll.wake()
    }

    /// The journal has room again. Any thread.
    func wakeForRoom() {
        guard !hasRoom.exchange(true, ordering: .sequentiallyConsistent) else { return }
        poll.wake()
    }

    func run() {
        while !isStopping {
            beats.add(1, ordering: .relaxed)
            poll.wait(timeout: timeout(), into: &found)
            beats.add(1, ordering: .relaxed)
            for readiness in found { entries[readiness.tag]?.isReady = true }
            performOrders()
            if hasRoom.exchange(false, ordering: .sequentiallyConsistent), let id = stalled {
                stalled = nil
                serve(id)
            }
            serveRound()
            let isReading = stalled == nil && entries.values.contains { $0.isReady && $0.pausedUntil == nil }
            busy.store(isReading || stalled != nil, ordering: .relaxed)
            if !isReading {
                for bell in bells { bell.ring() }
                bells = []
            }
        }
        for entry in entries.values { entry.listener.end(empties: entry.isFinishing) }
        for bell in bells + entries.values.flatMap(\.done) { bell.ring() }
        entries = [:]
    }

    /// How long the thread may sleep; nil: until it is woken.
    private func timeout() -> Duration? {
        if stalled != nil { return nil }
        let ready = entries.values.filter(\.isReady)
        if ready.contains(where: { $0.pausedUntil == nil }) { return .zero }
        guard let next = ready.compactMap(\.pausedUntil).min() else { return nil }
        return max(.zero, next - clock.now())
    }

    private func performOrders() {
        let orders = self.orders.withLock { orders in
            defer { orders = [] }
            return orders
        }
        for order in orders {
            switch order {
            case .listen(let listener, let id):
                entries[id] = Entry(listener: listener)
                watch(listener, id)
            case .stopListening(let id, let done):
                entries[id]?.endsAfterTurn = true
                if stalled != id { end(id) }
                done.ring()
            case .finish(let id, let done):
                guard let listener = entries[id]?.listener else {
                    done.ring()
                    continue
                }
                listener.socket.stopReceiving()
                entries[id]?.done.append(done)
                entries[id]?.isFinishing = true
                entries[id]?.isReady = true
            case .turn(let bell): bells.append(bell)
            case .stop: isStopping = true
            }
        }
    }

    /// Gives each ready socket one turn.
    private func serveRound() {
        let now = clock.now()
        for (id, entry) in entries where entry.isReady {
            guard stalled == nil else { return }
            if let until = entry.pausedUntil, now < until { continue }
            serve(id)
        }
    }

    private func serve(_ id: UInt64) {
        guard let entry = entries[id] else { return }
        entries[id]?.pausedUntil = nil
        switch entry.listener.turn() {
        case .more: entries[id]?.isReady = true
        case .empty:
            entries[id]?.isReady = false
            // No message can arrive in a socket that was shut down.
            if entry.isFinishing { return end(id) }
            if entry.isUnwatched {
                watch(entry.listener, id)
                pauseReading(id)
            }
        case .stalled:
            stalled = id
            return
        case .failed: pauseReading(id)
        }
        if entry.endsAfterTurn { end(id) }
    }

    private func watch(_ listener: DatagramListener, _ id: UInt64) {
        do throws(SystemError) {
            try poll.add(listener.socket, tag: id)
            entries[id]?.isUnwatched = false
        } catch {
            entries[id]?.isUnwatched = true
        }
    }

    private func pauseReading(_ id: UInt64) {
        entries[id]?.isReady = true
        entries[id]?.pausedUntil = clock.now() + Self.pause
    }

    private func end(_ id: UInt64) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        // The socket stays open elsewhere, so the kernel would keep reporting it.
        poll.remove(entry.listener.socket)
        entry.listener.end(empties: false)
        for bell in entry.done { bell.ring() }
    }
}
