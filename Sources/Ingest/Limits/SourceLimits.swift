/// The limits of one source, and the faults that it repairs. Each property's configuration key is in parentheses.
package struct SourceLimits: Sendable, Equatable {
    /// Bytes of one event's JSON (`max_event_size`).
    package var maximumEventSize: Int
    /// Nesting depth of one event's JSON (`max_depth`).
    package var maximumDepth: Int
    /// Open connections of the source (`max_connections`).
    package var maximumConnections: Int
    /// Open connections per user (`max_connections_per_uid`). No user is exempt.
    package var maximumConnectionsPerUser: Int
    /// Bytes of answers that a client has not read yet (`max_unread_answers`).
    package var maximumUnreadAnswers: Int
    /// Consecutive refused lines after which a client is disconnected (`max_consecutive_refusals`).
    package var maximumConsecutiveRefusals: Int
    /// Bytes buffered for all clients of the source (`max_buffered`): unfinished lines and requests, unread answers,
    /// input that waits for the client's next turn, and TLS sessions.
    package var maximumBuffered: Int
    /// How long a client may take to finish a line (`line_timeout`) and to read its last answers.
    package var lineTimeout: Duration
    /// How long a client may be silent (`idle_timeout`); nil: no limit.
    package var idleTimeout: Duration?
    /// How many events clients may send (`rate_limit`); nil: no limit.
    package var rateLimit: ClientRateLimit?
    /// Whether the connections of a Unix socket outlive the process (`keep_connections`).
    package var keepsConnections: Bool
    /// The faults in events that are repaired instead of refused (`ids`, `invalid_text`).
    package var repairs: EventRepairs

    package init(
        maximumEventSize: Int, maximumDepth: Int, maximumConnections: Int, maximumUnreadAnswers: Int,
        maximumConnectionsPerUser: Int = 1000, maximumConsecutiveRefusals: Int = 1000, maximumBuffered: Int = 24 << 20,
        lineTimeout: Duration = .seconds(60), idleTimeout: Duration? = nil, rateLimit: ClientRateLimit? = nil,
        repairs: EventRepairs = [], keepsConnections: Bool = true
    ) {
        self.maximumEventSize = maximumEventSize
        self.maximumDepth = maximumDepth
        self.maximumConnections = maximumConnections
        self.maximumUnreadAnswers = maximumUnreadAnswers
        self.maximumConnectionsPerUser = maximumConnectionsPerUser
        self.maximumConsecutiveRefusals = maximumConsecutiveRefusals
        self.maximumBuffered = maximumBuffered
        self.lineTimeout = lineTimeout
        self.idleTimeout = idleTimeout
        self.rateLimit = rateLimit
        self.repairs = repairs
        self.keepsConnections = keepsConnections
    }
}

/// A limit that can take effect on a client. The raw value is its configuration key.
package enum ClientLimit: String, Sendable, CaseIterable {
    case maximumConnections = "max_connections"
    case maximumConnectionsPerUser = "max_connections_per_uid"
    case maximumConsecutiveRefusals = "max_consecutive_refusals"
    case maximumBuffered = "max_buffered"
    case lineTimeout = "line_timeout"
    case idleTimeout = "idle_timeout"
    case rateLimit = "rate_limit"

    /// Whether the limit refuses events or clients. Closing a silent client loses nothing, and a client that is slowed
    /// down neither.
    package var refuses: Bool { self != .idleTimeout && self != .rateLimit }
}
