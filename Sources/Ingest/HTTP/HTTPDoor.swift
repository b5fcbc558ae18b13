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
    /// The current second as a text, and the usual answer with it. Writing them costs more than the rest of a request.
    private var lastDate: (second: Int64, text: String?, success: [UInt8]) = (.min, nil, [])

    /// For the next request: the write keys and origins of the running configuration, also if the client connected
    /// before a reload. The limits are those with which it connected.
    var access: HTTPAccess {
        var access = current.value
        access.limits = requests
        return access
    }

    var isWithdrawn: Bool { current.isWithdrawn }

    /// Differs if `access` may differ.
    var accessGeneration: UInt64 { current.generation }

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

    /// An answer's bytes.
    /// - Parameter withoutBody: the request was HEAD.
    func bytes(of answer: HTTPAnswer, withoutBody: Bool) -> [UInt8] {
        tellTime()
        if answer.isPlainSuccess, !withoutBody { return lastDate.success }
        var bytes: [UInt8] = []
        answer.write(to: &bytes, date: lastDate.text, withoutBody: withoutBody)
        return bytes
    }

    /// The value of a Date field (RFC 9110, section 5.6.7).
    private func tellTime() {
        let second = clock.wallClock() / 1_000_000_000
        guard second != lastDate.second else { return }
        let text = CalendarTime.text(secondsSince1970: second, "%a, %d %b %Y %H:%M:%S GMT")
        var success: [UInt8] = []
        HTTPAnswer.success.write(to: &success, date: text, withoutBody: false)
        lastDate = (second, text, success)
    }
}
