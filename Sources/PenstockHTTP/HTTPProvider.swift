public import Foundation
public import Penstock

/// Sends events to a service that supports Segment's HTTP API (`POST /v1/batch`): to Segment itself, or to the `http:`
/// listener of a penstockd. Use it on machines without a daemon.
///
/// Events wait in memory until a request is due, at most ``Options/flushInterval``. A request that fails is retried
/// with growing delays until it is answered; events keep their order. Events that do not fit into memory, and events
/// that the service rejects (400, 413, 422), are dropped, counted in ``statistics`` and reported. When the process
/// ends, the provider sends the events in memory, for at most ``Options/exitTimeout``; the others are lost. Call
/// `await analytics.flush()` to wait longer.
///
/// If several processes run on one Linux host, use `DaemonProvider`, which keeps events on disk. Do not use this
/// provider in a child process after fork(2).
public final class HTTPProvider: AnalyticsProvider, BlockingFlush {
    /// The service, and the limits of requests and memory.
    public struct Options: Sendable {
        /// The URL of the service, without `/v1/batch`.
        public var service: URL
        /// The key by which the service identifies the application. It is sent as the user name of Basic
        /// authentication.
        public var writeKey: String
        /// The maximum number of events in a request. The default is Segment's limit.
        public var batchEvents: Int = 2500
        /// The maximum size of a request in bytes. The default is Segment's limit.
        public var batchBytes: Int = 500_000
        /// The maximum size of an event in bytes. Larger events are dropped. The default is Segment's limit.
        public var eventBytes: Int = 32 << 10
        /// The maximum number of events in memory.
        public var queueEvents: Int = 10_000
        /// The maximum size of the events in memory in bytes.
        public var queueBytes: Int = 8 << 20
        /// The longest time that an event waits for others to fill a batch.
        public var flushInterval: Duration = .seconds(5)
        /// The range of delays before a retry. The delay is random between the lower bound and a limit that doubles
        /// with each consecutive failure, up to the upper bound. A `Retry-After` in seconds from the service is obeyed
        /// up to the upper bound.
        public var retryDelay: ClosedRange<Duration> = .milliseconds(500) ... .seconds(300)
        /// The longest time to wait for an answer.
        public var timeout: Duration = .seconds(30)
        /// How long the end of the process may be delayed by events that the service has not accepted. It applies when
        /// the process ends by exit(3) or by returning from `main`. After that the events are lost.
        public var exitTimeout: Duration = .seconds(2)

        /// Creates options with Segment's limits.
        public init(service: URL, writeKey: String) {
            self.service = service
            self.writeKey = writeKey
        }
    }

    /// The number of events so far, by outcome.
    public struct Statistics: Sendable, Hashable {
        /// Recorded, and not dropped because memory was full.
        public var accepted = 0
        /// Accepted by the service.
        public var delivered = 0
        /// Rejected by the service, together with the other events of their request.
        public var refused = 0
        /// Dropped, because the event was too large or memory was full.
        public var dropped = 0
        /// Discarded from memory by ``HTTPProvider/purge()``.
        public var purged = 0
        /// Currently in memory.
        public var inMemory = 0
    }

    /// The name by which the application disables or removes the provider.
    public let name: String
    private let client: HTTPClient

    /// Creates a provider. It starts to send when the first event is recorded.
    ///
    /// - Parameters:
    ///   - options: The service, and the limits of requests and memory.
    ///   - name: The name by which the application disables or removes the provider.
    public init(_ options: Options, name: String = "HTTPProvider") {
        self.name = name
        client = HTTPClient(options)
    }

    deinit { client.close() }

    public func record(_ event: RecordedEvent) { client.record(event.json) }

    public func attach(to diagnostics: DiagnosticsHandler) { client.attach(to: diagnostics) }

    /// Sends the events in memory at once, and waits until the service has answered for all of them, or until the
    /// deadline.
    public func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome {
        await client.flush(until: deadline)
    }

    package func flushBlocking(until deadline: ContinuousClock.Instant) -> FlushOutcome {
        client.flushBlocking(until: deadline)
    }

    /// Discards the events in memory, except those of a request that is being sent.
    public func purge() { client.purge() }

    /// The number of events so far, by outcome.
    public var statistics: Statistics { client.statistics }
}
