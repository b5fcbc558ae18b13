import Control
import Platform
import Synchronization
import Telemetry

/// Answers the requests of the metrics listener:
///
/// | request | answers |
/// | --- | --- |
/// | `GET /metrics` | all metrics: OpenMetrics if the client prefers it, else Prometheus text format |
/// | `GET /health` | 200 while every thread makes progress, also while the daemon is degraded; else 503 |
/// | `GET /ready` | 200 while events are accepted; else 503 |
///
/// Everybody who can connect may ask: the answers hold names and figures, no texts of errors and no events.
final class MetricsRequests: ControlHandler {
    /// How long a report is used. A client that asks without pause causes no more reports than this allows.
    static let reuse = Duration.milliseconds(100)

    fileprivate struct Cache {
        var report: MetricsReport
        var made: Instant
        var texts: [MetricsText.Format: [UInt8]] = [:]
    }

    private let collect: @Sendable () -> MetricsReport
    private let clock: any Clock
    private let cache = Mutex<Cache?>(nil)

    init(clock: any Clock, collect: @escaping @Sendable () -> MetricsReport) {
        self.clock = clock
        self.collect = collect
    }

    func handle(_ request: ControlRequest, reply: ControlReply) {
        switch (request.method, request.path) {
        case (.get, "/metrics"):
            let format = MetricsText.Format(accept: request.fields["accept"])
            reply.respond(contentType: format.contentType, body: withReport { $0.text(format) })
        case (.get, "/health"):
            let (health, stuck) = withReport { ($0.report.status.health, $0.report.stuckThreads) }
            reply.respond(["status": stuck > 0 ? "stuck" : health.rawValue], status: stuck > 0 ? 503 : 200)
        case (.get, "/ready"):
            let isReady = withReport { $0.report.isReady }
            reply.respond(["status": isReady ? "ready" : "not ready"], status: isReady ? 200 : 503)
        case (_, "/metrics"), (_, "/health"), (_, "/ready"):
            reply.fail(405, "\(request.path) does not take \(request.method.rawValue)")
        default:
            reply.fail(404, "there is nothing at this path: see /metrics, /health, /ready")
        }
    }

    /// The lock is held while a report is made, so clients who ask at once share one report.
    private func withReport<Result: Sendable>(_ body: (inout Cache) -> Result) -> Result {
        cache.withLock { cache in
            let now = clock.now()
            var current =
                cache.flatMap { now - $0.made < Self.reuse ? $0 : nil } ?? Cache(report: collect(), made: now)
            // A second reference would make each change a copy.
            cache = nil
            defer { cache = current }
            return body(&current)
        }
    }
}

extension MetricsRequests.Cache {
    fileprivate mutating func text(_ format: MetricsText.Format) -> [UInt8] {
        if let text = texts[format] { return text }
        let text = report.text(format)
        texts[format] = text
        return text
    }
}

extension MetricsText.Format {
    /// - Parameter accept: the field `Accept` (RFC 9110, section 12.5.1); nil: the client takes anything.
    init(accept: String?) {
        var best = (format: Self.prometheus, quality: 0.0)
        for range in (accept ?? "").split(separator: ",").prefix(32) {
            let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            let parameters = parts.dropFirst()
            func parameter(_ name: String) -> Substring? {
                parameters.first { $0.hasPrefix(name + "=") }?.dropFirst(name.count + 1)
            }
            let quality = parameter("q").map { Double($0) ?? 0 } ?? 1
            let format: Self
            switch parts.first {
            case "application/openmetrics-text" where (parameter("version") ?? "1.0.0") == "1.0.0":
                format = .openMetrics
            case "text/plain", "text/*", "*/*": format = .prometheus
            default: continue
            }
            if quality > best.quality { best = (format, quality) }
        }
        self = best.format
    }
}
