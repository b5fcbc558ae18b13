import Events
import Platform
import Synchronization

/// A thread that serves clients. One thread serves those that send little, and others those that send much
/// (`LightLoad`), so that the former need not wait for a processor either. A client moves between them.
///
/// Ready connections wait in a queue that is fair between users. Each turn has a bounded time and amount of memory.
final class ClientLoop: @unchecked Sendable {
    /// How long connections are served between two polls of the kernel.
    static let round = Duration.milliseconds(1)
    /// A wait for the kernel that was longer than this was a sleep.
    private static let shortestSleep = Duration.microseconds(20)
    /// The interval between checks of the clients' time limits. It shrinks if a limit is short, down to
    /// `shortestSweep`.
    private static let longestSweep = Duration.seconds(1)
    private static let shortestSweep = Duration.milliseconds(20)
    /// How long orders are performed in a round: hundreds of connections may have to be closed at once.
    private static let orderTime = Duration.microseconds(500)
    /// How many connections are checked per round.
    private static let sweptAtOnce = 1024

    let number: Int
    /// Whether it serves the clients that send little.
    let isLight: Bool
    private let poll: SocketPoll
    private let clock: any Clock
    private let pressure: RefusalPressure
    private let appender: any EventAppender
    private let placement: ClientPlacement
    private let orders = OrderQueue()
    private let hasRoom = Atomic<Bool>(false)
    private let commits = CommitWaits()
    private let isSubmitting = Atomic<Bool>(false)

    /// Grows while the thread works. Odd: it works; even: it sleeps. Any thread.
    var heartbeat: UInt64 { beats.load(ordering: .relaxed) }
    private let beats = Atomic<UInt64>(1)
    /// The number of connections that this thread serves. Any thread.
    var connectionsServed: Int { connectionCount.load(ordering: .relaxed) }
    private let connectionCount = Atomic<Int>(0)
    /// Whether clients have sent input that is not processed yet. Any thread.
    var isBusy: Bool { busy.load(ordering: .relaxed) }
    private let busy = Atomic<Bool>(false)

    // The state below belongs to the loop's own thread.
    private var connections: [UInt64: ClientConnection] = [:]
    private var queue = FairQueue<ClientConnection>()
    private var waiting = StalledClients()
    private var buffer = [UInt8](repeating: 0, count: ClientConnection.largeRead)
    private var found: [SocketPoll.Readiness] = []
    private var bells: [Doorbell] = []
    private var throttled = WaitingTimes()
    private var rest = RefusalRest()
    private var sweepInterval = longestSweep
    private var nextSweep: Instant
    private var unswept: [UInt64] = []
    private var memory = MemoryWatch()
    private var load = LightLoad()
    private var gathering = Gathering()
    private var (hasServed, hasSlept) = (false, false)
    private var (readsLast, isStopping) = (false, false)

    init(
        number: Int, isLight: Bool, clock: any Clock, pressure: RefusalPressure, placement: ClientPlacement,
        appender: any EventAppender
    ) throws(SystemError) {
        poll = try SocketPoll()
        self.number = number
        self.isLight = isLight
        self.clock = clock
        self.pressure = pressure
        self.placement = placement
        self.appender = appender
        nextSweep = clock.now() + Self.longestSweep
    }

    // MARK: Other threads

    func post(_ order: Order) {
        orders.post(order)
        poll.wake()
    }

    /// The journal has committed. A thread that submits looks at its commits afterwards.
    func wakeIfDurable() {
        if commits.committed(), !isSubmitting.load(ordering: .sequentiallyConsistent) { poll.wake() }
    }

    /// The journal has room again.
    func wakeForRoom() {
        guard !hasRoom.exchange(true, ordering: .sequentiallyConsistent) else { return }
        poll.wake()
    }

    // MARK: The thread

    func run() {
        if isLight { WorkerThread.preferLatency() } else { WorkerThread.giveWay() }
        WorkerThread.sleepPrecisely()
        while !isStopping {
            beats.add(1, ordering: .relaxed)
            let (limit, asleepSince) = (timeout(), clock.now())
            poll.wait(timeout: limit, into: &found)
            beats.add(1, ordering: .relaxed)
            for readiness in found { note(readiness) }
            hasSlept = limit != .zero && clock.now() - asleepSince >= Self.shortestSleep
            if hasSlept, found.contains(where: \.canRead) { gather() }
            performOrders()
            if commits.takeCommit() { acknowledge() }
            resumeThrottled()
            if hasRoom.exchange(false, ordering: .sequentiallyConsistent) { retryStalled() }
            serveRound()
            // Before a wait for the disk: what clients send meanwhile must be read before their time is judged.
            sweep()
            submitServed()
            busy.store(!queue.isEmpty || !waiting.isEmpty || !throttled.isEmpty, ordering: .relaxed)
            if queue.isEmpty {
                for bell in bells { bell.ring() }
                bells = []
            }
        }
        end()
    }

    /// How long the thread may sleep; nil: until it is woken.
    private func timeout() -> Duration? {
        if !orders.isEmpty { return .zero }
        let now = clock.now()
        if let end = rest.end { return queue.trustedCount > 0 ? .zero : max(.zero, end - now) }
        if !queue.isEmpty || !unswept.isEmpty { return .zero }
        guard !connections.isEmpty || memory.isWatching else { return nil }
        return max(.zero, min(nextSweep, throttled.next ?? nextSweep) - now)
    }

    /// Waits a moment for more clients, unless enough has come together while the thread worked. It may take a `wake`:
    /// what that is for must be looked at afterwards.
    private func gather() {
        let delay = appender.commitDelay
        guard delay > .zero, gathering.isDue() else { return }
        pause(for: delay)
        poll.wait(timeout: .zero, into: &found)
        for readiness in found { note(readiness) }
        gathering.note(cameMore: !found.isEmpty)
    }

    private func note(_ readiness: SocketPoll.Readiness) {
        guard let connection = connections[readiness.tag] else { return }
        connection.ready(readiness)
        enqueue(connection)
    }

    private func enqueue(_ connection: ClientConnection) {
        guard !connection.isQueued, connection.isOpen else { return }
        connection.isQueued = true
        queue.add(connection, user: connection.user, connection.conduct.standing)
    }

    // MARK: Turns

    /// Serves queued connections, one turn each, until the round's time is over.
    private func serveRound() {
        let began = clock.now()
        rest.update(at: began)
        var now = began
        var wasted = Duration.zero
        while let connection = queue.next(trustedOnly: rest.end != nil) {
            connection.isQueued = false
            let outcome = turn(of: connection, at: now)
            let after = clock.now()
            if connection.conduct.isSuspect { wasted += after - now }
            if isMisplaced(connection, took: after - now, at: after), move(connection, outcome) {
                // It continues there.
            } else if outcome == .more {
                enqueue(connection)
            }
            now = after
            if now - began >= Self.round { break }
        }
        if rest.note(refusals: wasted, ofRound: now - began, at: now) { pressure.note(at: now) }
    }

    private func serve(_ connection: ClientConnection, at now: Instant) {
        if turn(of: connection, at: now) == .more { enqueue(connection) }
    }

    /// Lets the journal commit the events of the round. Where none are left to serve, it may wait for the disk.
    private func submitServed() {
        guard hasServed else { return }
        hasServed = false
        isSubmitting.store(true, ordering: .sequentiallyConsistent)
        appender.submit(mayWait: isLight && hasSlept && queue.isEmpty)
        isSubmitting.store(false, ordering: .sequentiallyConsistent)
        if commits.takeCommit() { acknowledge() }
    }

    /// - Returns: `more`: the caller queues it again.
    private func turn(of connection: ClientConnection, at now: Instant) -> ClientConnection.Outcome {
        hasServed = true
        let outcome = connection.serve(
            &buffer, at: now, mayTake: waiting.mayTake(connection), defersLargeBodies: isLight && !readsLast)
        memory.freed(connection.takeFreedBytes())
        if outcome != .stalled { leaveStalled(connection) }
        switch outcome {
        case .more, .waits: break
        case .stalled: waiting.stall(connection)
        case .parked: waiting.park(connection)
        case .throttled(let until): throttled.add(connection.id, until: until)
        case .closed: remove(connection)
        }
        noteAwaitedEnd(of: connection)
        return outcome
    }

    private func noteAwaitedEnd(of connection: ClientConnection) {
        guard let end = connection.awaitedEnd, end > connection.notedEnd else { return }
        connection.notedEnd = end
        if commits.add(connection.id, end: end, durableEnd: { appender.durableEnd }) { poll.wake() }
    }

    private func resumeThrottled() {
        guard throttled.next != nil else { return }
        for id in throttled.takeDue(at: clock.now()) {
            if let connection = connections[id] { enqueue(connection) }
        }
    }

    private func leaveStalled(_ connection: ClientConnection) {
        for other in waiting.leave(connection) { enqueue(other) }
    }

    private func remove(_ connection: ClientConnection) {
        leaveStalled(connection)
        throttled.remove(connection.id)
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        memory.closed(holding: connection.reportedBytes)
        connectionCount.subtract(1, ordering: .relaxed)
    }

    // MARK: Moves

    /// Whether a connection belongs to a loop of the other kind.
    private func isMisplaced(_ connection: ClientConnection, took turn: Duration, at now: Instant) -> Bool {
        guard isLight else { return connection.conduct.lightTurns >= Conduct.lightTurnsToReturn }
        return !load.note(turn, of: connection.user, at: now) || connection.conduct.sendsMuch
    }

    /// The loop that a connection may move to; nil: none. Before the daemon's end, the others may have ended already,
    /// and would not leave the connection to the next process.
    private var otherLoop: ClientLoop? { readsLast ? nil : placement.loop(isLight: !isLight) }

    /// - Returns: false: it cannot move now.
    private func move(_ connection: ClientConnection, _ outcome: ClientConnection.Outcome) -> Bool {
        guard outcome == .more || outcome == .waits, connection.isOpen, !connection.isQueued,
            !connection.isStalledInLoop, !connection.isParked, !throttled.contains(connection.id),
            let target = otherLoop,
            connections.removeValue(forKey: connection.id) != nil
        else { return false }
        connectionCount.subtract(1, ordering: .relaxed)
        connection.depart(from: poll, toLoop: target.number)
        target.post(.add([connection]))
        return true
    }

    // MARK: Commits

    private func acknowledge() {
        let end = appender.durableEnd
        while let id = commits.next(durableEnd: end) {
            guard let connection = connections[id] else { continue }
            connection.durable(upTo: end)
            enqueue(connection)
        }
    }

    /// In the order in which they stalled. Parked connections follow once none is stalled.
    private func retryStalled() {
        for connection in waiting.stalled { serve(connection, at: clock.now()) }
    }

    // MARK: Connections

    private func add(_ connection: ClientConnection) {
        if isLight, load.excludes(connection.user, at: clock.now()), let target = otherLoop {
            connection.conduct.isTurnedAway()
            connection.assign(toLoop: target.number)
            return target.post(.add([connection]))
        }
        do {
            try connection.register(with: poll)
        } catch {
            connection.close()
            return
        }
        if connection.isLeft, !connection.resume() {
            connection.close()
            return
        }
        connection.onTooMuchBuffered = { [placement] victim, bytes in
            placement.hand(.tooMuchBuffered(bytes: bytes), toConnection: victim)
        }
        // A short limit shortens the interval between checks.
        let limits = connection.listener.limits
        let shortest = min(limits.lineTimeout, limits.idleTimeout ?? limits.lineTimeout) / 4
        if shortest < sweepInterval {
            sweepInterval = max(Self.shortestSweep, shortest)
            nextSweep = min(nextSweep, clock.now() + sweepInterval)
        }
        connections[connection.id] = connection
        if readsLast { connection.readLast() }
        connectionCount.add(1, ordering: .relaxed)
        // It may come from another loop, with events that wait for a commit.
        connection.durable(upTo: appender.durableEnd)
        noteAwaitedEnd(of: connection)
        enqueue(connection)
    }

    // MARK: Orders

    /// Performs orders until the time of a round is over. The rest waits for the next round.
    private func performOrders() {
        orders.receive()
        let end = clock.now() + Self.orderTime
        while let order = orders.next() {
            perform(order)
            if clock.now() >= end { break }
        }
    }

    private func perform(_ order: Order) {
        switch order {
        case .add(let connections): for connection in connections { add(connection) }
        case .limit(let limit, let id, let asked):
            if let connection = connections[id] {
                enforce(limit, on: connection)
            } else {
                placement.forward(limit, connection: id, from: number, asked: asked + 1)
            }
        case .turn(let bell): bells.append(bell)
        case .lastReads:
            readsLast = true
            for connection in connections.values {
                connection.readLast()
                enqueue(connection)
            }
        case .stop: isStopping = true
        }
    }

    private func enforce(_ limit: ClientLimitOrder, on connection: ClientConnection) {
        switch limit {
        case .makeRoom:
            connection.leave()
            enqueue(connection)
        case .tooMuchBuffered(let bytes):
            connection.end(
                .maximumBuffered, .maximumBuffered,
                """
                the source's buffers are full (max_buffered), and \(connection.user) has the most in them, \
                \(bytes) bytes; finish lines and read answers, or raise the limit
                """, at: clock.now())
            leaveStalled(connection)
            // Now: while it waited for its turn, others would go on to fill memory.
            serve(connection, at: clock.now())
        }
    }

    // MARK: Time

    /// Checks the time limits of some of the connections.
    private func sweep() {
        let now = clock.now()
        if now >= nextSweep, unswept.isEmpty {
            nextSweep = now + sweepInterval
            unswept = Array(connections.keys)
            waiting.forgetClosed()
            memory.check(connections: connections.count, at: now)
        }
        for id in unswept.suffix(Self.sweptAtOnce) {
            guard let connection = connections[id] else { continue }
            if connection.check(at: now) { enqueue(connection) }
            if !connection.isOpen { remove(connection) }
        }
        unswept.removeLast(min(Self.sweptAtOnce, unswept.count))
    }

    /// Sends the last acknowledgements, then closes all connections.
    private func end() {
        orders.receive()
        while let order = orders.next() { perform(order) }
        acknowledge()
        let now = clock.now()
        while let connection = queue.next() { _ = connection.serve(&buffer, at: now, mayTake: false) }
        appender.submit(mayWait: false)
        for connection in connections.values { connection.leaveToNext() }
        connections = [:]
        for bell in bells { bell.ring() }
    }
}
