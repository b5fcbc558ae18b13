import Platform
import Synchronization

/// The thread that accepts the clients of all sources and hands them to the threads that serve them (`ClientLoop`). A
/// burst of new connections therefore does not delay connected clients.
///
/// It accepts from each socket for a bounded time, then continues with the next one. Clients that are not accepted yet
/// wait in the kernel.
final class AcceptLoop: @unchecked Sendable {
    /// Requests from other threads.
    enum Order: Sendable {
        case listen(SourceListener, ListeningSocket, id: UInt64)
        case stopListening(id: UInt64, done: Doorbell)
        /// Clients that an earlier process has left. Those of a source that has no listener now are closed.
        case resume([ClientKeeper.Left])
        /// Rings the doorbell once this loop has checked all of its sockets.
        case turn(Doorbell)
        case stop
    }

    /// How often the process's descriptors are counted while clients connect.
    private static let measureInterval = Duration.seconds(1)
    private static let tidyInterval = Duration.milliseconds(100)

    private let poll: SocketPoll
    private let clock: any Clock
    private let descriptors: DescriptorReserve
    private let pressure: RefusalPressure
    private let placement: ClientPlacement
    private let orders = Mutex<[Order]>([])

    /// Grows while the thread works. Odd: it works; even: it sleeps. Any thread.
    var heartbeat: UInt64 { beats.load(ordering: .relaxed) }
    private let beats = Atomic<UInt64>(1)

    // The state below belongs to the loop's own thread.
    /// A socket is closed when listening on it ends, even if clients are still connected. Otherwise new clients would
    /// wait forever in a socket that no thread accepts from.
    private var listeners: [UInt64: (listener: SourceListener, socket: ListeningSocket)] = [:]
    /// `awaited`: listeners that may have clients waiting. `paused`: listeners on which accepting pauses, and until
    /// when.
    private var awaited: Set<UInt64> = []
    private var paused: [UInt64: Instant] = [:]
    /// Listeners that epoll could not watch because the kernel was out of memory. They are polled instead.
    private var unwatched: Set<UInt64> = []
    private var found: [SocketPoll.Readiness] = []
    private var bells: [Doorbell] = []
    private let keeper: ClientKeeper?
    private var nextTidy: Instant?
    private var nextMeasure: Instant
    private var isStopping = false

    /// - Parameter keeper: keeps clients beyond the process; this thread is its owner.
    init(
        clock: any Clock, descriptors: DescriptorReserve, pressure: RefusalPressure, placement: ClientPlacement,
        keeper: ClientKeeper?
    ) throws(SystemError) {
        self.keeper = keeper
        poll = try SocketPoll()
        self.clock = clock
        self.descriptors = descriptors
        self.pressure = pressure
        self.placement = placement
        nextMeasure = clock.now()
        keeper?.wake = { [unowned self] in poll.wake() }
    }

    /// Any thread.
    func post(_ order: Order) {
        orders.withLock { $0.append(order) }
        poll.wake()
    }

    func run() {
        WorkerThread.preferLatency()
        while !isStopping {
            beats.add(1, ordering: .relaxed)
            poll.wait(timeout: timeout(), into: &found)
            beats.add(1, ordering: .relaxed)
            for readiness in found where listeners[readiness.tag] != nil && paused[readiness.tag] == nil {
                awaited.insert(readiness.tag)
            }
            performOrders()
            acceptClients()
            tidy()
            for bell in bells { bell.ring() }
            bells = []
        }
        for bell in bells { bell.ring() }
    }

    /// How long the thread may sleep; nil: until a client connects.
    private func timeout() -> Duration? {
        if !awaited.isEmpty { return .zero }
        guard let next = ([nextTidy].compactMap(\.self) + paused.values).min() else { return nil }
        return max(.zero, next - clock.now())
    }

    /// Removes closed connections from what is kept, many at a time.
    private func tidy() {
        guard let keeper, keeper.isUntidy || nextTidy != nil else { return }
        let now = clock.now()
        guard let next = nextTidy else {
            nextTidy = now + Self.tidyInterval
            return
        }
        guard now >= next else { return }
        nextTidy = nil
        keeper.tidy()
    }

    private func performOrders() {
        let orders = self.orders.withLock { orders in
            defer { orders = [] }
            return orders
        }
        for order in orders {
            switch order {
            case .listen(let listener, let socket, let id):
                listeners[id] = (listener, socket)
                watch(socket, id)
                awaited.insert(id)
            case .stopListening(let id, let done):
                if let entry = listeners.removeValue(forKey: id) { poll.remove(entry.socket.descriptor) }
                paused[id] = nil
                awaited.remove(id)
                unwatched.remove(id)
                done.ring()
            case .resume(let clients): resume(clients)
            case .turn(let bell): bells.append(bell)
            case .stop: isStopping = true
            }
        }
    }

    private func watch(_ socket: ListeningSocket, _ id: UInt64) {
        do {
            try poll.add(socket.descriptor, tag: id)
            unwatched.remove(id)
        } catch {
            unwatched.insert(id)
        }
    }

    private func resume(_ clients: [ClientKeeper.Left]) {
        var admitted: [Int: [ClientConnection]] = [:]
        for client in clients {
            guard let socket = client.take() else { continue }
            let (loop, id) = placement.next()
            guard let listener = listeners.values.first(where: { $0.listener.keeps(client) })?.listener else {
                client.slot?.release()
                socket.endConnection()
                continue
            }
            // Its socket had reached the vault, and nothing more had happened.
            let slot = client.slot ?? keeper?.keep(socket, ofSource: listener.number)
            guard
                case .admitted(let new, _) = listener.examine(
                    socket, id: id, loop: loop, slot: slot, isLeft: client.slot != nil)
            else { continue }
            admitted[loop, default: []].append(new)
        }
        for (loop, connections) in admitted { placement.hand(.add(connections), to: loop) }
    }

    // MARK: Accepting

    private func acceptClients() {
        guard !awaited.isEmpty || !paused.isEmpty else { return }
        let now = clock.now()
        for (id, until) in paused where now >= until {
            paused[id] = nil
            awaited.insert(id)
        }
        if now >= nextMeasure {
            nextMeasure = now + Self.measureInterval
            descriptors.measure()
        }
        for id in awaited {
            if let entry = listeners[id], accept(from: entry.socket, for: entry.listener, id) { continue }
            awaited.remove(id)
            guard unwatched.contains(id), let entry = listeners[id] else { continue }
            watch(entry.socket, id)
            paused[id] = now + DescriptorReserve.pause
        }
    }

    /// - Returns: whether more clients may be waiting.
    private func accept(from socket: ListeningSocket, for listener: SourceListener, _ id: UInt64) -> Bool {
        let began = clock.now()
        let end = began + SourceListener.acceptingTime
        let isSlow = pressure.isHigh(at: began)
        // Handed over in groups, because each order wakes a thread.
        var admitted: [Int: [ClientConnection]] = [:]
        defer { for (loop, connections) in admitted { placement.hand(.add(connections), to: loop) } }
        for accepted in 0..<(isSlow ? RefusalPressure.acceptedAtOnce : SourceListener.acceptedAtOnce) {
            if accepted > 0, clock.now() >= end { break }
            guard descriptors.hasRoom else { return pause(id, nil) }
            do throws(SystemError) {
                var slot: ClientSlot?
                guard let client = try next(of: socket, for: listener, &slot) else { return false }
                let (loop, connection) = placement.next()
                guard
                    case .admitted(let new, let replaced) = listener.examine(
                        client, id: connection, loop: loop, slot: slot)
                else { continue }
                if let replaced {
                    placement.hand(.makeRoom, toConnection: replaced)
                }
                admitted[loop, default: []].append(new)
            } catch {
                return pause(id, error)
            }
        }
        if isSlow { paused[id] = began + RefusalPressure.pause }
        return !isSlow
    }

    /// - Parameter slot: the client's place in what outlives the process.
    private func next(
        of socket: ListeningSocket, for listener: SourceListener, _ slot: inout ClientSlot?
    ) throws(SystemError) -> FileDescriptor? {
        guard let keeper = listener.keeper else { return try socket.descriptor.accept() }
        return try keeper.accept(from: socket.descriptor, ofSource: listener.number, slot: &slot)
    }

    /// Leaves clients in the socket's backlog for a moment.
    private func pause(_ listener: UInt64, _ error: SystemError?) -> Bool {
        descriptors.noteShortage(error)
        paused[listener] = clock.now() + DescriptorReserve.pause
        return false
    }
}
