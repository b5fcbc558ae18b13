/// Hands events to the penstockd of this machine, over its Unix domain socket.
///
/// Recording copies the event's line into a queue in memory, and is done. A thread of the provider's own
/// sends it, and keeps it until the daemon has acknowledged it, which means that it is on the daemon's disk.
/// While the daemon is away, or slower than the application, events go to a spool on disk. They
/// reach the daemon in the order in which they were recorded, each at least once, with the same `messageId`.
///
/// ```swift
/// let analytics = Analytics(providers: [DaemonProvider()])
/// …
/// await analytics.flush()     // at the end: nothing recorded before can be lost any more
/// ```
///
/// **What can be lost.** When a process is killed (kill -9, a crash), what is in memory alone: the
/// last milliseconds' events, that are neither acknowledged nor spooled yet. `await analytics.flush()` makes that
/// zero for everything recorded before it: call it at the end of a program, and behind an event that
/// must not be lost. The spool is not synced: it outlives the process, a power cut maybe not.
/// What finds no room (``Options/queueEvents``, ``Options/queueBytes``, ``Options/spoolBytes``) is dropped,
/// counted in ``statistics``, and reported as ``Diagnostic/Code/eventsDropped``. An event that the daemon
/// refuses is reported with the daemon's reason, and is not sent again.
///
/// **After fork(2)** a child process begins anew: with an empty queue, a connection and a store in the spool of its
/// own, as soon as it records an event. What the parent had recorded before, the parent sends. Nothing has to
/// be called for it. That holds for this provider; a child of a process with several threads should
/// otherwise call exec(3) soon.
///
/// Letting go of the provider, as ``Analytics`` does when it is removed, sends what it still has, or spools it, in the
/// background.
public final class DaemonProvider: AnalyticsProvider {
    /// What became of the events so far, of this process and provider.
    public struct Statistics: Sendable, Hashable {
        /// Recorded, and not dropped.
        public var accepted = 0
        /// Acknowledged by the daemon: on its disk, or refused. What other processes have left in the spool counts, too.
        public var acknowledged = 0
        /// Of those: refused.
        public var refused = 0
        /// Dropped, since memory and spool were full.
        public var dropped = 0
        /// In memory alone: lost, if the process were killed now.
        public var inMemory = 0
        /// Bytes in the spool that are not acknowledged.
        public var spooledBytes = 0
        /// Whether there is a connection to the daemon.
        public var isConnected = false
    }

    private let client: DaemonClient

    /// Begins to connect, and to send what is left in the spool.
    public init(_ options: Options = Options()) {
        client = DaemonClient(options)
    }

    deinit { client.close() }

    public func record(_ event: RecordedEvent) { client.record(event.json) }

    public func attach(to diagnostics: DiagnosticsHandler) { client.attach(to: diagnostics) }

    /// Returns when every event recorded before is acknowledged, or is in the spool because the daemon is
    /// away. What the daemon has not acknowledged at the deadline is spooled then; ``FlushOutcome/pending(events:)``
    /// says how many events found no room there, or that there is no spool.
    public func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome {
        await client.flush(until: deadline)
    }

    /// What became of the events so far.
    public var statistics: Statistics { client.statistics }
}
