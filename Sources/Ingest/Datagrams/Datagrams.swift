import Events
import Platform
import Synchronization
import Telemetry

/// The datagram sockets of all sources, and the thread that reads them. Call from one thread, unless a member says
/// otherwise.
package final class Datagrams: Sendable {
    private struct Listening {
        var id: UInt64
        /// nil: systemd made the socket.
        var path: String?
    }

    /// How long messages that are already in a removed socket may wait for room in the journal.
    private static let finishTime = Duration.seconds(5)

    private let appender: any EventAppender
    private let clock: any Clock
    private let telemetry: Telemetry?
    private let loop: DatagramLoop
    private let thread: WorkerThread
    /// By the name of the socket.
    private let listening = Mutex<[String: Listening]>([:])
    private let last = Atomic<UInt64>(0)

    /// Starts the thread.
    init(appender: any EventAppender, clock: any Clock, telemetry: Telemetry?) throws {
        self.appender = appender
        self.telemetry = telemetry
        self.clock = clock
        let loop = try DatagramLoop(clock: clock)
        self.loop = loop
        thread = WorkerThread(name: "datagrams") { loop.run() }
    }

    /// Ends the thread. Received messages that the journal has no room for, and those in sockets that were to end, are
    /// counted as refused and logged. Messages in the other sockets stay there.
    func stop() {
        loop.post(.stop)
        thread.join()
    }

    /// The name of a source's datagram socket.
    package static func name(ofSource source: String) -> String { source + SocketActivation.datagramSuffix }

    /// A socket that is ready to be read but is not read yet. Dropping it has no effect.
    package struct Prepared {
        fileprivate let name: String
        fileprivate let path: String?
        fileprivate let listener: DatagramListener
    }

    /// Does everything that can fail before a source's datagrams are read. Changes nothing.
    /// - Parameters:
    ///   - descriptor: an AF_UNIX datagram socket. The listener takes ownership.
    ///   - path: where the daemon made the socket; nil: systemd made it.
    ///   - inspector, scrubber, statistics: as in `Ingest.prepare`.
    package func prepare(
        source: String, descriptor: consuming Platform.FileDescriptor, path: String?, limits: SourceLimits,
        admission: Admission, statistics: SourceStatistics, inspector: () -> (any EventInspector)? = { nil },
        scrubber: () -> (any EventScrubber)? = { nil }
    ) throws -> Prepared {
        // systemd sets this only if the unit has PassCredentials=.
        try descriptor.receiveCredentials()
        let events = EventAdmission(
            limits: limits, appender: appender, statistics: statistics, clock: clock, inspector: inspector(),
            scrubber: scrubber())
        return Prepared(
            name: Self.name(ofSource: source), path: path,
            listener: DatagramListener(
                source: source, socket: descriptor, admission: admission, events: events,
                limiter: statistics.rateLimiter(limits.rateLimit),
                notices: LimitNotices(source: source, statistics: statistics, telemetry: telemetry, clock: clock),
                telemetry: telemetry))
    }

    /// Reads a prepared socket from now on, in place of the source's current one.
    package func serve(_ prepared: Prepared) {
        let id = last.add(1, ordering: .relaxed).newValue
        stopReading([prepared.name], for: prepared.path)
        listening.withLock { $0[prepared.name] = Listening(id: id, path: prepared.path) }
        loop.post(.listen(prepared.listener, id: id))
    }

    /// Ends a socket. Messages in one that the daemon made are stored before, for at most some seconds, because they
    /// are lost when it is closed. Those in a socket of systemd wait for the next daemon.
    /// - Parameter name: the name of the socket. One that is not read is ignored.
    package func stopListening(_ name: String) { stopReading([name], for: nil) }

    /// Ends all sockets. The time is for all together.
    func stopListening() { stopReading(listening.withLock { Array($0.keys) }, for: nil) }

    /// - Parameter path: the path of the socket that follows. Messages in the same socket can wait for it.
    private func stopReading(_ names: [String], for path: String?) {
        let deadline = clock.now() + Self.finishTime
        var awaited: [Doorbell] = []
        for name in names {
            guard let old = listening.withLock({ $0.removeValue(forKey: name) }) else { continue }
            let done = Doorbell()
            if old.path == nil || old.path == path {
                loop.post(.stopListening(id: old.id, done: done))
            } else {
                loop.post(.finish(id: old.id, done: done))
            }
            awaited.append(done)
        }
        for done in awaited { done.wait(until: deadline) }
    }

    // MARK: Any thread

    func turn(_ bell: Doorbell) { loop.post(.turn(bell)) }
    var isBusy: Bool { loop.isBusy }
    var heartbeat: (thread: String, beat: UInt64) { ("datagrams", loop.heartbeat) }
    func journalHasRoom() { loop.wakeForRoom() }
}
