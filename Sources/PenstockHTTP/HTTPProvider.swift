public import Foundation
public import Penstock

/// Sends events to a service that supports Segment's HTTP API (`POST /v1/batch`): to Segment itself, or to the `http:`
/// listener of a penstockd. Use it on machines without a daemon.
///
/// Events wait in memory until a request is due, at most ``Options/flushInterval``. A request that fails is retried
/// with growing delays until it is answered; events keep their order. While requests fail, or the service is slower
/// than the application, events are written to a spool on disk, from which the next process of this user also sends
/// them. The service receives each event at least once, and every time with the same `messageId`.
///
/// **Which events can be lost.** A program that ends by exit(3) or by returning from `main` loses none: at the end, the
/// provider sends the events in memory, for at most ``Options/exitTimeout``, and spools the rest. If the process is
/// killed, events that are in memory only are lost: those of the last ``Options/flushInterval``. After
/// `await analytics.flush()` has returned `FlushOutcome.complete`, no event recorded before it can be lost in this way.
/// The spool is not synced: it survives the end of the process, but may not survive a power cut. Events that do not fit
/// (``Options/queueEvents``, ``Options/queueBytes``, ``Options/spoolBytes``) are dropped, counted in ``statistics`` and
/// reported.
///
/// A batch that the service rejects (400, 413, 422) is sent again in halves, until the event is found that it rejects.
/// That event alone is dropped, counted in ``statistics``, and reported with its name.
///
/// If several processes run on one Linux host, use `DaemonProvider`: its daemon syncs each event to disk, and sends for
/// all of them. Do not use this provider in a child process after fork(2).
public final class HTTPProvider: AnalyticsProvider, BlockingFlush {
    /// The service, and the limits of requests and memory.
    public struct Options: Sendable {
        /// The URL of the service, without `/v1/batch`.
        public var service: URL
        /// The key by which the service identifies the application. It is sent as the user name of Basic
        /// authentication.
        public var writeKey: String
        /// The directory for events that the service does not take; nil to keep events in memory only.
        ///
        /// It is created when it is first needed, and is accessible to this user only. Several processes may share it.
        /// Each sends its own events, and those left by processes that used the same service and write key and have
        /// ended. The default is `DaemonProvider.Options.defaultSpool(environment:)`.
        public var spool: String?
        /// The maximum size of the spool in bytes. Events left by earlier processes count; events of other running
        /// processes do not. The default is 64 MiB.
        public var spoolBytes: Int = 64 << 20
        /// The maximum size of a file in the spool in bytes. A file is deleted when all of it is delivered.
        public var spoolSegmentBytes: Int = 8 << 20
        /// How often the provider looks in the spool for events of processes that have ended.
        public var adoptionInterval: Duration = .seconds(15)
        /// The maximum number of events in a request. The default is Segment's limit.
        public var batchEvents: Int = 2500
        /// The maximum size of a request in bytes. The default is Segment's limit.
        public var batchBytes: Int = 500_000
        /// The maximum size of an event in bytes. Larger events are dropped. The default is Segment's limit.
        public var eventBytes: Int = 32 << 10
        /// The maximum number of events in memory. If more than a quarter of this number is in memory, the service is
        /// slower than the application, and events are spooled even though it answers.
        public var queueEvents: Int = 10_000
        /// The maximum size of the events in memory in bytes. It is applied like ``queueEvents``.
        public var queueBytes: Int = 8 << 20
        /// The longest time that an event waits for others to fill a batch.
        public var flushInterval: Duration = .seconds(5)
        /// The range of delays before a retry. The delay is random between the lower bound and a limit that doubles
        /// with each consecutive failure, up to the upper bound. A `Retry-After` in seconds from the service is obeyed
        /// up to the upper bound.
        public var retryDelay: ClosedRange<Duration> = .milliseconds(500) ... .seconds(300)
        /// The longest time to wait for an answer.
        public var timeout: Duration = .seconds(30)
        /// How long a released provider keeps sending its remaining events. After that they are spooled.
        public var closingTimeout: Duration = .seconds(2)
        /// How long the end of the process may be delayed by events that the service has not accepted. After that they
        /// are spooled, which takes about a millisecond, and at most 2 s if the disk is slow. It applies when the
        /// process ends by exit(3) or by returning from `main`.
        public var exitTimeout: Duration = .seconds(2)

        /// Creates options with Segment's limits.
        ///
        /// - Parameters:
        ///   - service: The URL of the service, without `/v1/batch`.
        ///   - writeKey: The key by which the service identifies the application.
        ///   - environment: The environment variables, for the default spool.
        public init(
            service: URL, writeKey: String, environment: [String: String] = ProcessInfo.processInfo.environment
        ) {
            self.service = service
            self.writeKey = writeKey
            spool = DaemonProvider.Options.defaultSpool(environment: environment)
        }

        /// The spool of this service and write key. Events of one application must not be sent as another's.
        var spoolOfService: String? {
            spool.map { spool in
                // FNV-1a, which differs for different services and keys, and does not show the key.
                let hash = "\(service.absoluteString)\n\(writeKey)".utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
                    ($0 ^ UInt64($1)) &* 0x100_0000_01B3
                }
                let host = (service.host ?? "").prefix(100).map { $0.isLetter || $0.isNumber || $0 == "." ? $0 : "-" }
                return "\(spool)/\(String(host))-\(String(hash, radix: 16))"
            }
        }
    }

    /// The number of events so far, by outcome.
    public struct Statistics: Sendable, Hashable {
        /// Recorded, and not dropped because memory was full.
        public var accepted = 0
        /// Accepted by the service. This includes events from the spool that other processes recorded.
        public var delivered = 0
        /// Rejected by the service.
        public var refused = 0
        /// Dropped, because the event was too large, or memory and spool were full.
        public var dropped = 0
        /// Discarded from memory by ``HTTPProvider/purge()``. Events of a request that was being sent are included,
        /// until the service takes or rejects them after all: then they count as delivered or refused instead.
        public var purged = 0
        /// In memory only. These events would be lost if the process were killed now.
        public var inMemory = 0
        /// The size of the spooled events that are not delivered, in bytes.
        public var spooledBytes = 0
    }

    /// The name by which the application disables or removes the provider.
    public let name: String
    private let client: HTTPClient

    /// Creates a provider. It starts to send when the first event is recorded, or at once if earlier processes have
    /// left events in the spool.
    ///
    /// - Parameters:
    ///   - options: The service, and the limits of requests and memory.
    ///   - name: The name by which the application disables or removes the provider.
    public init(_ options: Options, name: String = "HTTPProvider") {
        self.name = name
        client = HTTPClient(options)
    }

    deinit { client.close() }

    public func record(_ event: RecordedEvent) { client.record(event) }

    public func attach(to diagnostics: DiagnosticsHandler) { client.attach(to: diagnostics) }

    /// Sends the events in memory at once, and waits until the service has answered for all of them, or they are in the
    /// spool because it does not answer.
    ///
    /// At the deadline, events without an answer are spooled. `FlushOutcome.pending(events:)` returns the number of
    /// events for which the spool has no room, or no spool exists.
    public func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome {
        await client.flush(until: deadline)
    }

    package func flushBlocking(until deadline: ContinuousClock.Instant) -> FlushOutcome {
        client.flushBlocking(until: deadline)
    }

    /// Discards the events in memory and in the spool, also those that ended processes have left there. The service may
    /// still take the events of a request that is being sent; if the request fails, they are not sent again.
    public func purge() { client.purge() }

    /// The number of events so far, by outcome.
    public var statistics: Statistics { client.statistics }
}
