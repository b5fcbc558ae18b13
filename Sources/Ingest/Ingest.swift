// Ingest: reads events from client sockets, validates them and appends them to the journal.
//
// - It never changes an event unless configured to: a source's `ids:` and `invalid_text:` repair what would be refused;
//   its `scrub:` removes data; a tracking plan annotates violations or removes what is not in the plan.
// - It never drops an event silently. Every refusal has a named reason, is counted, and is reported to clients that
//   asked for acknowledgements.
// - A refused line affects no other line and no other client.
// - The kernel's socket buffer provides back-pressure: while the journal is busy, client sockets are not read.
// - An acknowledgement is sent only after the journal has reported the events durable.
// - A thread that serves many clients gives each a bounded time and a bounded amount of memory per turn (`TurnBudget`).
//   Users take turns, and of a user's clients those that send little are served first (`FairQueue`), so no client can
//   stall another.
// - Memory is bounded. A client holds at most the bytes of one read, one unfinished line and its unread answers. All
//   clients of a source together hold at most `max_buffered`.
// - With a `ClientKeeper`, clients of Unix sockets outlive the process, however it ends: what was read of a client and
//   is not durable lies in memory that another process holds, beside what the next process must know (`ClientRecord`).
//
// Threads: one thread accepts clients (`AcceptLoop`) and hands them to the threads that serve them (`ClientLoop`): one
// for clients that send little, some for clients that send much and for requests with large bodies. Each waits in
// epoll(7) and reads no more from a client than it can process. Under light load it waits a moment for other clients,
// so that their events share a commit (`Gathering`). One more reads datagram sockets (`Datagrams`).
// Ingest knows the journal only as an `EventAppender`.
//
// Protocols (`ClientStream`): `NDJSONStream`, and `HTTPStream` in HTTP/. A stream socket takes both; the first byte
// decides (`ClientConnection`).

import Events
import Platform
import Synchronization
import Telemetry

/// The listeners of all sources. Forwards the journal's notifications to their connections.
package final class Ingest: Sendable {
    private let appender: any EventAppender
    private let clock: any Clock
    private let telemetry: Telemetry?
    private let loops: [ClientLoop]
    private let accepting: AcceptLoop
    private let threads: [WorkerThread]
    private let placement: ClientPlacement
    private let keeper: ClientKeeper?
    package let datagrams: Datagrams
    package let descriptors: DescriptorReserve
    /// The current listeners by the names of their sockets: their ids and their statistics.
    private let listeners = Mutex<[String: (id: UInt64, statistics: ObjectIdentifier)]>([:])
    /// The HTTP access of each socket, by its name.
    private let access = Mutex<[String: CurrentHTTPAccess]>([:])
    /// The statistics of every source. Includes sources that a reload removed while they still had connections.
    private let statistics = Mutex<[ObjectIdentifier: SourceStatistics]>([:])

    /// Starts the threads.
    /// - Parameters:
    ///   - threads: threads that serve clients that send much, 1 to 254. One more thread serves those that send little,
    ///     and one accepts clients.
    ///   - descriptorLimit: how many descriptors the process may open; nil if unknown.
    ///   - keeper: keeps the clients of Unix sockets beyond the process; nil: they end with it.
    package init(
        threads count: Int, appender: any EventAppender, clock: any Clock, telemetry: Telemetry? = nil,
        descriptorLimit: Int? = OpenFileLimit.current, keeper: ClientKeeper? = nil
    ) throws {
        self.keeper = keeper
        self.appender = appender
        self.clock = clock
        self.telemetry = telemetry
        let descriptors = DescriptorReserve(limit: descriptorLimit, telemetry: telemetry, clock: clock)
        let placement = ClientPlacement()
        let pressure = RefusalPressure()
        let loops = try (0...min(max(count, 1), 254)).map { number in
            try ClientLoop(
                number: number, isLight: number == 0, clock: clock, pressure: pressure, placement: placement,
                appender: appender)
        }
        let accepting = try AcceptLoop(
            clock: clock, descriptors: descriptors, pressure: pressure, placement: placement, keeper: keeper)
        placement.set(loops)
        datagrams = try Datagrams(appender: appender, clock: clock, telemetry: telemetry)
        threads =
            [WorkerThread(name: "accept") { accepting.run() }]
            + loops.map { loop in WorkerThread(name: "ingest \(loop.number)") { loop.run() } }
        self.descriptors = descriptors
        self.placement = placement
        self.loops = loops
        self.accepting = accepting
    }

    /// Closes all connections and ends the threads. Call once, and not from one of these threads.
    package func stop() {
        accepting.post(.stop)
        for loop in loops { loop.post(.stop) }
        for thread in threads { thread.join() }
        datagrams.stop()
        placement.set([])
    }

    /// How the clients of a listener connect.
    package enum Transport: Sendable {
        /// A Unix stream socket, which takes every protocol.
        case unix
        /// TCP, for HTTP alone. Nil: without encryption.
        case tcp(TLSContext?)

        var isTCP: Bool {
            if case .tcp = self { true } else { false }
        }
    }

    /// The name of a source's TCP socket, beside the source's own name for its Unix socket.
    package static func tcpName(ofSource source: String) -> String { source + ".http" }

    /// A listener that is ready to accept but does not accept yet. Dropping it has no effect.
    package struct Prepared {
        fileprivate let name: String
        fileprivate let listener: SourceListener
        /// Becomes the current access once the listener serves.
        fileprivate let http: HTTPAccess
        fileprivate let socket: ListeningSocket
    }

    /// Does everything that can fail when a source starts to listen. Changes nothing: the source's current listener
    /// continues. Call from one thread.
    ///
    /// - Parameters:
    ///   - descriptor: a listening stream socket, of AF_UNIX or of TCP as `transport` says. The listener takes it over.
    ///   - inspector: creates an inspector for each event loop if events are checked before they are stored.
    ///   - scrubber: creates a scrubber for each event loop if events are scrubbed before they are stored.
    ///   - statistics: the caller keeps it across reloads.
    ///   - http: who may use the HTTP API.
    package func prepare(
        source: String, descriptor: consuming Platform.FileDescriptor, transport: Transport = .unix,
        limits: SourceLimits, admission: Admission, statistics: SourceStatistics, http: HTTPAccess = HTTPAccess(),
        inspector: () -> (any EventInspector)? = { nil }, scrubber: () -> (any EventScrubber)? = { nil }
    ) throws -> Prepared {
        let name = transport.isTCP ? Self.tcpName(ofSource: source) : source
        let current = access.withLock { all in
            let current = all[name] ?? CurrentHTTPAccess(http)
            all[name] = current
            return current
        }
        let notices = LimitNotices(source: source, statistics: statistics, telemetry: telemetry, clock: clock)
        let limiter = statistics.rateLimiter(limits.rateLimit)
        return Prepared(
            name: name,
            listener: SourceListener(
                source: source, transport: transport, limits: limits, admission: admission,
                statistics: statistics, notices: notices, descriptors: descriptors, limiter: limiter,
                keeper: transport.isTCP || !limits.keepsConnections ? nil : keeper,
                path: UnixListener.path(of: descriptor.raw), clock: clock,
                eventAdmissions: loops.map { _ in
                    SourceListener.LoopAdmission(
                        admission: EventAdmission(
                            limits: limits, appender: appender.gathering, statistics: statistics, clock: clock,
                            inspector: inspector(), scrubber: scrubber()),
                        door: HTTPDoor(
                            access: current, requests: http.limits, limits: limits, limiter: limiter, clock: clock,
                            obstacle: { [appender] in appender.obstacle }))
                }),
            http: http,
            socket: try ListeningSocket(descriptor))
    }

    /// Replaces the source's current listener with a prepared one. New clients get the new limits; connected clients
    /// keep theirs, but write keys and allowed origins change for them, too. Call from one thread.
    package func serve(_ prepared: Prepared) {
        let listener = prepared.listener
        let key = ObjectIdentifier(listener.statistics)
        let id = placement.nextNumber()
        // Clients that connect in between wait in the socket's backlog.
        stopListening(source: prepared.name)
        access.withLock { $0[prepared.name]?.value = prepared.http }
        let served = listeners.withLock { listeners in
            listeners[prepared.name] = (id, key)
            return Set(listeners.values.map(\.statistics))
        }
        statistics.withLock { all in
            for (key, one) in all where !served.contains(key) && one.snapshot().connections == 0 { all[key] = nil }
            all[key] = listener.statistics
        }
        accepting.post(.listen(listener, prepared.socket, id: id))
    }

    /// Goes on with the clients that an earlier process has left, once all sources are served.
    package func resume() {
        guard let left = keeper?.takeLeft(), !left.isEmpty else { return }
        accepting.post(.resume(left))
    }

    /// Prepares and serves in one step.
    package func listen(
        source: String, descriptor: consuming Platform.FileDescriptor, limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics, inspector: () -> (any EventInspector)? = { nil },
        scrubber: () -> (any EventScrubber)? = { nil }
    ) throws {
        serve(
            try prepare(
                source: source, descriptor: descriptor, limits: limits, admission: admission, statistics: statistics,
                inspector: inspector, scrubber: scrubber))
    }

    /// Stops listening for a source that is no longer configured. HTTP clients that are connected are sent away.
    /// - Parameter source: as in `stopListening`.
    package func remove(source: String) {
        stopListening(source: source)
        access.withLock { $0.removeValue(forKey: source) }?.withdraw()
    }

    /// Stops accepting connections for a source and returns once that is done. Open connections continue. New clients
    /// wait in the socket's backlog for another listener.
    /// - Parameter source: a source, or the name of its TCP socket (`tcpName`) or its datagram socket
    ///   (`Datagrams.stopListening`).
    package func stopListening(source: String) {
        datagrams.stopListening(source)
        guard let id = listeners.withLock({ $0.removeValue(forKey: source)?.id }) else { return }
        let done = Doorbell()
        accepting.post(.stopListening(id: id, done: done))
        done.wait()
    }

    /// Stops accepting connections for all sources.
    package func stopListening() {
        for source in listeners.withLock({ Array($0.keys) }) { stopListening(source: source) }
        datagrams.stopListening()
    }

    /// Reads what clients have sent before this call, and no more, until all of it is settled or the deadline passes. A
    /// client that keeps on sending does not delay the end. Unread bytes are in the kernel, which discards them when
    /// the connection is closed.
    ///
    /// It is the end if nothing arrived for `quietTime`, every event loop checked all of its sockets several times
    /// meanwhile (on a busy machine, elapsed time alone proves nothing), and no client waits for the journal. Messages
    /// of datagram sockets have no owner whose messages could be told apart, so they are read for `datagramTime`.
    ///
    /// - Parameter moreToCome: returns whether clients are about to be accepted.
    package func drain(by deadline: Instant, while moreToCome: () -> Bool) {
        for loop in loops { loop.post(.lastReads) }
        let datagramsEnd = clock.now() + Self.datagramTime
        let pause = Doorbell()
        var last = settledLines
        var quietSince = clock.now()
        var quietTurns = 0
        while clock.now() < deadline, clock.now() - quietSince < Self.quietTime || quietTurns < Self.quietTurns {
            turnLoops(by: deadline)
            pause.wait(until: min(deadline, clock.now() + .milliseconds(5)))
            let now = settledLines
            let hasDatagrams = clock.now() < datagramsEnd && (datagrams.isBusy || now != last)
            let isBusy = hasDatagrams || moreToCome() || loops.contains(where: \.isBusy)
            last = now
            quietTurns += 1
            if isBusy {
                quietSince = clock.now()
                quietTurns = 0
            }
        }
    }

    /// How long nothing may arrive before clients count as quiet.
    private static let quietTime = Duration.milliseconds(20)
    /// How many turns of every event loop the quiet time must cover.
    private static let quietTurns = 4
    /// How long messages of datagram sockets are read at the end. Their queues take a few milliseconds.
    private static let datagramTime = Duration.milliseconds(300)

    /// Waits until every event loop has checked all of its sockets. The accepting loop goes first because it hands
    /// clients to the others.
    private func turnLoops(by deadline: Instant) {
        let accepted = Doorbell()
        accepting.post(.turn(accepted))
        accepted.wait(until: deadline)
        for turn in loops.map({ loop in { loop.post(.turn($0)) } }) + [datagrams.turn] {
            let done = Doorbell()
            turn(done)
            done.wait(until: deadline)
        }
    }

    private var settledLines: UInt64 {
        statistics.withLock { $0.values.map { $0.snapshot() } }.reduce(0) {
            $0 + $1.accepted + $1.refused + $1.duplicates
        }
    }

    /// The heartbeat of each thread. It grows while the thread works. An odd value means that the thread works, an even
    /// value that it sleeps.
    package var heartbeats: [(thread: String, beat: UInt64)] {
        [("accept", accepting.heartbeat), datagrams.heartbeat] + loops.map { ("ingest \($0.number)", $0.heartbeat) }
    }

    /// The journal has committed: acknowledgements can be sent. Any thread; cheap if no client waits.
    package func journalCommitted() {
        for loop in loops { loop.wakeIfDurable() }
    }

    /// The journal has room again after it was busy. Any thread.
    package func journalHasRoom() {
        for loop in loops { loop.wakeForRoom() }
        datagrams.journalHasRoom()
    }
}
