/// Sends events to the penstockd of this machine, over its Unix domain socket.
///
/// Recording copies the event's line into a queue in memory and returns. The provider's own thread sends the line and
/// keeps it until the daemon has acknowledged it, which means that the event is on the daemon's disk. While the daemon
/// is unreachable, or slower than the application, events are written to a spool on disk. The daemon receives events in
/// the order in which they were recorded, each at least once, and every time with the same `messageId`.
///
/// ```swift
/// let analytics = Analytics(providers: [DaemonProvider()])
/// …
/// await analytics.flush()     // no event recorded before can be lost any more
/// ```
///
/// **Which events can be lost.** A program that ends by exit(3) or by returning from `main` loses none: at the end,
/// the provider waits for the daemon, at most ``Options/exitTimeout``, and spools the rest. If the process is killed
/// (kill -9, a crash, a signal that it does not handle), events that are in memory only are lost: those of the last
/// milliseconds that are neither acknowledged nor spooled. After `await analytics.flush()` has returned
/// ``FlushOutcome/complete``, no event recorded before it can be lost in this way. Call it after an event that must not
/// be lost. The spool is not synced: it survives the end of the process, but
/// may not survive a power cut. Events that do not fit (``Options/queueEvents``, ``Options/queueBytes``,
/// ``Options/spoolBytes``) are dropped, counted in ``statistics``, and reported as ``Diagnostic/Code/eventsDropped``.
/// An event that the daemon rejects is reported with the daemon's reason and, if it was not spooled, its name and
/// call site; it is not sent again.
///
/// **After fork(2)**, the child process starts with an empty queue. It opens its own connection, and its own store in
/// the spool, as soon as it records an event. The parent sends what the parent recorded before the fork. The
/// application does not have to call anything. This holds for this provider; apart from it, a child of a multithreaded
/// process should call exec(3) soon: a lock of Swift's runtime that another thread holds during the fork, because it
/// uses a type for the first time, stays locked in the child. This is less likely once the first events have been sent.
///
/// When the last reference to the provider is released, for example because ``Analytics`` removed it, the provider
/// sends or spools its remaining events in the background.
public final class DaemonProvider: AnalyticsProvider, BlockingFlush {
    /// The number of events so far of this process and provider, by outcome.
    public struct Statistics: Sendable, Hashable {
        /// Recorded, and not dropped.
        public var accepted = 0
        /// Acknowledged by the daemon: on its disk, or rejected. This includes events from the spool that other
        /// processes recorded.
        public var acknowledged = 0
        /// Rejected by the daemon. These are included in `acknowledged`.
        public var refused = 0
        /// Dropped because memory and spool were full.
        public var dropped = 0
        /// Discarded from memory by ``DaemonProvider/purge()``.
        public var purged = 0
        /// In memory only. These events would be lost if the process were killed now.
        public var inMemory = 0
        /// The size of the spooled events that are not acknowledged, in bytes.
        public var spooledBytes = 0
        /// A Boolean value that indicates whether the provider is connected to the daemon.
        public var isConnected = false
    }

    /// The name by which the application disables or removes the provider.
    public let name: String
    private let client: DaemonClient

    /// Creates a provider. It connects at once, and sends the events left in the spool.
    ///
    /// - Parameters:
    ///   - options: The socket, and the limits of memory and spool.
    ///   - name: The name by which the application disables or removes the provider.
    public init(_ options: Options = Options(), name: String = "DaemonProvider") {
        self.name = name
        client = DaemonClient(options)
    }

    deinit { client.close() }

    public func record(_ event: RecordedEvent) { client.record(event) }

    public func attach(to diagnostics: DiagnosticsHandler) { client.attach(to: diagnostics) }

    /// Waits until every event recorded before this call is acknowledged, or is in the spool because the daemon is
    /// unreachable.
    ///
    /// At the deadline, events that are not acknowledged are spooled. ``FlushOutcome/pending(events:)`` returns the
    /// number of events for which the spool has no room, or no spool exists.
    public func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome {
        await client.flush(until: deadline)
    }

    package func flushBlocking(until deadline: ContinuousClock.Instant) -> FlushOutcome {
        client.flushBlocking(until: deadline)
    }

    /// Discards the events in memory and in the spool, also those that ended processes have left there. Events that
    /// were sent are out of reach, even if the daemon has not acknowledged them.
    public func purge() { client.purge() }

    /// The number of events so far, by outcome.
    public var statistics: Statistics { client.statistics }
}
