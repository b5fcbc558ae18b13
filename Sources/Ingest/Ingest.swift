// Ingest: from a socket to the journal.
//
// - It validates and admits; it never changes an event, unless it is told to (a source's scrub, a tracking plan that notes what
//   is wrong), and never drops one without a named reason that is counted and, if the client asked, told.
// - A line is refused by itself: neighbours and other clients notice nothing.
// - Back-pressure is the kernel's: while the journal is busy, a client's socket is not read.
// - An acknowledgement is sent only after the journal said that the events are durable.
// - A thread that serves many clients serves each for a bounded time and a bounded amount of memory a turn (`TurnBudget`), and
//   users take turns (`FairQueue`): nobody can stall anybody else.
// - Memory is bounded: a client owns at most what one turn of reading delivers, one unfinished line, and its unread answers;
//   all clients of a source together at most `max_buffered`.
//
// It runs on threads of its own (`ClientLoop`), which ask the kernel who is ready (epoll(7)) and read no more of a client than
// they take. One more thread accepts clients and hands them over. It knows the journal only as an `EventAppender`.
//
// The first byte of a stream shows its protocol. NDJSON is the one there is now; another one gets its own kind of
// connection, chosen where `SourceListener` admits a client.

import Events
import Platform
import Synchronization
import Telemetry

/// All sources' listeners, and the way by which the journal's news reaches their connections.
package final class Ingest: Sendable {
    private let appender: any EventAppender
    private let clock: any Clock
    private let telemetry: Telemetry?
    private let loops: [ClientLoop]
    private let accepting: AcceptLoop
    private let threads: [WorkerThread]
    private let placement: ClientPlacement
    package let descriptors: DescriptorReserve
    /// Each source's listener, by its number, and its statistics.
    private let listeners = Mutex<[String: (id: UInt64, statistics: ObjectIdentifier)]>([:])
    /// Of every source, those removed by a reload included, whose connections live on.
    private let statistics = Mutex<[ObjectIdentifier: SourceStatistics]>([:])

    /// Starts the threads.
    /// - Parameters:
    ///   - threads: that serve clients; 1 to 255. One more accepts them.
    ///   - descriptorLimit: descriptors that the process may have; nil: it is not known.
    package init(
        threads count: Int, appender: any EventAppender, clock: any Clock, telemetry: Telemetry? = nil,
        descriptorLimit: Int? = OpenFileLimit.current
    ) throws {
        self.appender = appender
        self.clock = clock
        self.telemetry = telemetry
        let descriptors = DescriptorReserve(limit: descriptorLimit, telemetry: telemetry, clock: clock)
        let placement = ClientPlacement()
        let pressure = RefusalPressure()
        let loops = try (0..<min(max(count, 1), 255)).map { number in
            try ClientLoop(
                number: number, clock: clock, pressure: pressure, placement: placement, durableEnd: { appender.durableEnd })
        }
        let accepting = try AcceptLoop(clock: clock, descriptors: descriptors, pressure: pressure, placement: placement)
        placement.set(loops)
        threads =
            [WorkerThread(name: "accept") { accepting.run() }]
            + loops.map { loop in WorkerThread(name: "ingest \(loop.number)") { loop.run() } }
        self.descriptors = descriptors
        self.placement = placement
        self.loops = loops
        self.accepting = accepting
    }

    /// Closes all connections and ends the threads. Once; not on one of them.
    package func stop() {
        accepting.post(.stop)
        for loop in loops { loop.post(.stop) }
        for thread in threads { thread.join() }
        placement.set([])
    }

    /// A source's listener that is ready to accept and does not do so yet. One that is dropped has changed nothing.
    package struct Prepared {
        fileprivate let source: String
        fileprivate let listener: SourceListener
        fileprivate let socket: ListeningSocket
    }

    /// Does everything that serving a source on a listening socket needs and that can fail, and changes nothing: the
    /// listener that the source has goes on. From one thread.
    ///
    /// - Parameters:
    ///   - descriptor: a listening AF_UNIX stream socket; owned by the listener from here on.
    ///   - inspector: makes one for each event loop, if events are looked at before they are stored.
    ///   - scrubber: makes one for each event loop, if events are scrubbed before they are stored.
    ///   - statistics: carried on over reloads by the caller.
    package func prepare(
        source: String, descriptor: consuming Platform.FileDescriptor, limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics, inspector: () -> (any EventInspector)? = { nil },
        scrubber: () -> (any EventScrubber)? = { nil }
    ) throws -> Prepared {
        let notices = LimitNotices(source: source, statistics: statistics, telemetry: telemetry, clock: clock)
        return Prepared(
            source: source,
            listener: SourceListener(
                source: source, limits: limits, admission: admission, statistics: statistics, notices: notices,
                descriptors: descriptors, clock: clock,
                doors: loops.map { _ in
                    SourceListener.Door(
                        door: SourceDoor(
                            limits: limits, appender: appender, statistics: statistics, clock: clock, inspector: inspector(),
                            scrubber: scrubber()))
                }),
            socket: try ListeningSocket(descriptor))
    }

    /// Serves a source with a prepared listener, in place of the one that it has. Clients that connect from now on come
    /// under the new limits; those there are keep theirs. From one thread.
    package func serve(_ prepared: Prepared) {
        let listener = prepared.listener
        let key = ObjectIdentifier(listener.statistics)
        let id = placement.nextNumber()
        // What connects meanwhile waits in the socket.
        stopListening(source: prepared.source)
        let served = listeners.withLock { listeners in
            listeners[prepared.source] = (id, key)
            return Set(listeners.values.map(\.statistics))
        }
        statistics.withLock { all in
            for (key, one) in all where !served.contains(key) && one.snapshot().connections == 0 { all[key] = nil }
            all[key] = listener.statistics
        }
        accepting.post(.listen(listener, prepared.socket, id: id))
    }

    /// Prepares and serves at once.
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

    /// Accepts no new connections for a source; those there are go on. Others may wait in the socket for another listener on
    /// it. Returns when that is so.
    package func stopListening(source: String) {
        guard let id = listeners.withLock({ $0.removeValue(forKey: source)?.id }) else { return }
        let done = Doorbell()
        accepting.post(.stopListening(id: id, done: done))
        done.wait()
    }

    /// The same for all sources.
    package func stopListening() {
        for source in listeners.withLock({ Array($0.keys) }) { stopListening(source: source) }
    }

    /// Goes on reading what clients have sent already, until they have been quiet for a moment or
    /// the deadline passes. What they sent lies in the kernel, and ends with the connection.
    ///
    /// Quiet is: nothing came for some time, in which every event loop looked at all of its sockets
    /// several times (on a busy machine time alone says nothing), and no client waits for the journal.
    ///
    /// - Parameter moreToCome: whether clients are about to be let in.
    package func drain(by deadline: Instant, while moreToCome: () -> Bool) {
        let pause = Doorbell()
        var last = settledLines
        var quietSince = clock.now()
        var quietTurns = 0
        while clock.now() < deadline, clock.now() - quietSince < Self.quietTime || quietTurns < Self.quietTurns {
            turnLoops(by: deadline)
            pause.wait(until: min(deadline, clock.now() + .milliseconds(5)))
            let now = settledLines
            let isBusy = moreToCome() || loops.contains(where: \.isBusy)
            quietTurns += 1
            if now != last || isBusy {
                last = now
                quietSince = clock.now()
                quietTurns = 0
            }
        }
    }

    /// How long nothing must have come for clients to count as quiet.
    private static let quietTime = Duration.milliseconds(100)
    /// In how many turns of every event loop.
    private static let quietTurns = 4

    /// Waits until every event loop has looked at all of its sockets: first the one that accepts, which hands clients to the
    /// others.
    private func turnLoops(by deadline: Instant) {
        let accepted = Doorbell()
        accepting.post(.turn(accepted))
        accepted.wait(until: deadline)
        for loop in loops {
            let done = Doorbell()
            loop.post(.turn(done))
            done.wait(until: deadline)
        }
    }

    private var settledLines: UInt64 {
        statistics.withLock { $0.values.map { $0.snapshot() } }.reduce(0) { $0 + $1.accepted + $1.refused }
    }

    /// By each thread's name: grows while it works; odd then, even while it sleeps.
    package var heartbeats: [(thread: String, beat: UInt64)] {
        [("accept", accepting.heartbeat)] + loops.map { ("ingest \($0.number)", $0.heartbeat) }
    }

    /// The journal committed: acknowledgements can go. Any thread; cheap if nobody waits.
    package func journalCommitted() {
        for loop in loops { loop.wakeIfDurable() }
    }

    /// The journal has room again after it was busy. Any thread.
    package func journalHasRoom() {
        for loop in loops { loop.wakeForRoom() }
    }
}
