import Events
import Platform
import RequestBodies

/// What the HTTP clients of one listener share on one event loop.
package final class HTTPDoor {
    private let current: CurrentHTTPAccess
    private let requests: HTTPAccess.Limits
    let reader: TrackingRequestReader
    let logLimits: OTLPLogs.Limits
    let limiter: RateLimiter?
    let clock: any Clock
    /// Why the daemon cannot take events now; nil: it can.
    let obstacle: () -> String?
    /// Whether each answer from now on is its connection's last one, because the daemon ends.
    var endsConnections = false
    /// The current second as a text. Writing it costs as much as the rest of an answer.
    private var lastDate: (second: Int64, text: String?) = (.min, nil)

    /// For the next request: the write keys and origins of the running configuration, also if the client connected
    /// before a reload. The limits are those with which it connected.
    var access: HTTPAccess {
        var access = current.value
        access.limits = requests
        return access
    }

    /// - Parameter requests: the limits of the clients' requests.
    package init(
        access: CurrentHTTPAccess, requests: HTTPAccess.Limits, limits: SourceLimits, limiter: RateLimiter?,
        clock: any Clock,
        obstacle: @escaping () -> String?
    ) {
        current = access
        self.requests = requests
        self.limiter = limiter
        self.clock = clock
        self.obstacle = obstacle
        reader = TrackingRequestReader(
            limits: TrackingRequestReader.Limits(
                maximumEvents: requests.maximumEvents, maximumEventSize: limits.maximumEventSize,
                maximumDepth: limits.maximumDepth, maximumBody: requests.maximumBody))
        logLimits = OTLPLogs.Limits(
            maximumDepth: limits.maximumDepth, maximumEvents: requests.maximumEvents,
            maximumEventSize: limits.maximumEventSize)
    }

    /// The value of a Date field (RFC 9110, section 5.6.7).
    func date() -> String? {
        let second = clock.wallClock() / 1_000_000_000
        if second != lastDate.second {
            lastDate = (second, CalendarTime.text(secondsSince1970: second, "%a, %d %b %Y %H:%M:%S GMT"))
        }
        return lastDate.text
    }
}
