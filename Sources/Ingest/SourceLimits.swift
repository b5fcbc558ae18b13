/// A source's bounds; the configuration's names in snake_case.
package struct SourceLimits: Sendable, Equatable {
    /// Bytes of one event's JSON (`max_event_size`).
    package var maximumEventSize: Int
    /// Nesting of one event's JSON (`max_depth`).
    package var maximumDepth: Int
    /// `max_connections`.
    package var maximumConnections: Int
    /// Connections of one user at once (`max_connections_per_uid`). No user is exempt.
    package var maximumConnectionsPerUser: Int
    /// Bytes of answers that a client has not read yet (`max_unread_answers`).
    package var maximumUnreadAnswers: Int
    /// Refused lines in a row after which a client is let go (`max_consecutive_refusals`).
    package var maximumConsecutiveRefusals: Int
    /// Bytes held for all clients of the source (`max_buffered`): unfinished lines, unread answers, and what was read and
    /// waits for its turn.
    package var maximumBuffered: Int
    /// How long a client may take to finish a line (`line_timeout`), and to read its last answers.
    package var lineTimeout: Duration
    /// How long a client may be silent (`idle_timeout`); nil: for ever.
    package var idleTimeout: Duration?

    package init(
        maximumEventSize: Int, maximumDepth: Int, maximumConnections: Int, maximumUnreadAnswers: Int,
        maximumConnectionsPerUser: Int = 1000, maximumConsecutiveRefusals: Int = 1000, maximumBuffered: Int = 64 << 20,
        lineTimeout: Duration = .seconds(60), idleTimeout: Duration? = nil
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
    }
}

/// A limit that can take effect on a client. The raw value is its key in the configuration.
package enum ClientLimit: String, Sendable, CaseIterable {
    case maximumConnections = "max_connections"
    case maximumConnectionsPerUser = "max_connections_per_uid"
    case maximumConsecutiveRefusals = "max_consecutive_refusals"
    case maximumBuffered = "max_buffered"
    case lineTimeout = "line_timeout"
    case idleTimeout = "idle_timeout"

    /// Whether events are refused, or clients turned away, when it takes effect. A silent client that is closed loses nothing.
    package var refuses: Bool { self != .idleTimeout }
}
