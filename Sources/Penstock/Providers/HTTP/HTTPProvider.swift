import Foundation

/// Sends events to a service that speaks Segment's HTTP API (`POST /v1/batch`), from where there is no daemon: to Segment
/// itself, or to a penstockd's `http:` listener.
///
/// Events wait in memory, at most ``Options/flushInterval``, until a request is due. A request that fails is sent again, with
/// growing delays, until it is answered; the order is kept. What finds no room in memory, and what the service
/// says is wrong (400, 413, 422), is dropped, counted in ``statistics`` and reported. What is in memory is lost when
/// the process ends: `await analytics.flush()` before that.
///
/// Where several processes run on one Linux host, ``DaemonProvider`` is the better one: it keeps events on disk. This
/// one is not for a child process after fork(2).
public final class HTTPProvider: AnalyticsProvider {
    /// Where to, and how much at once.
    public struct Options: Sendable {
        /// The service, without `/v1/batch`.
        public var service: URL
        /// What the service knows the application by; sent as the user of Basic authentication.
        public var writeKey: String
        /// Events of a request, at most; Segment's limit.
        public var batchEvents: Int = 2500
        /// Bytes of a request, at most; Segment's limit.
        public var batchBytes: Int = 500_000
        /// Bytes of an event, at most; Segment's limit. A larger one is dropped.
        public var eventBytes: Int = 32 << 10
        /// Events in memory, at most.
        public var queueEvents: Int = 10_000
        /// Bytes in memory, at most.
        public var queueBytes: Int = 8 << 20
        /// How long an event waits for others to go with it.
        public var flushInterval: Duration = .seconds(5)
        /// How long to wait before a request is sent again: between the lower bound and twice as much for
        /// each failure in a row, up to the upper one. What the service asks for (`Retry-After`, in seconds) is obeyed up to that,
        /// too.
        public var retryDelay: ClosedRange<Duration> = .milliseconds(500) ... .seconds(300)
        /// How long an answer is waited for.
        public var timeout: Duration = .seconds(30)

        /// With the limits of Segment.
        public init(service: URL, writeKey: String) {
            self.service = service
            self.writeKey = writeKey
        }
    }

    /// What became of the events so far.
    public struct Statistics: Sendable, Hashable {
        /// Recorded, and not dropped for want of room.
        public var accepted = 0
        /// Taken by the service.
        public var delivered = 0
        /// In requests that the service called wrong.
        public var refused = 0
        /// Dropped: too large, or no room in memory.
        public var dropped = 0
        /// In memory.
        public var inMemory = 0
    }

    private let client: HTTPClient

    /// Sends to the service as soon as there is something to send.
    public init(_ options: Options) { client = HTTPClient(options) }

    deinit { client.close() }

    public func record(_ event: RecordedEvent) { client.record(event.json) }

    public func attach(to diagnostics: DiagnosticsHandler) { client.attach(to: diagnostics) }

    /// Sends what is in memory at once, and returns when the service has answered for all of it, or at the deadline.
    public func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome {
        await client.flush(until: deadline)
    }

    /// What became of the events so far.
    public var statistics: Statistics { client.statistics }
}
