extension StatusReport.Destination {
    /// A replay to a destination: the current one, or the last one since the daemon started.
    package struct Replay: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable, CaseIterable {
            case running
            /// A batch failed and will be retried.
            case retrying
            /// Waits for an operator: the service rejects a credential, or dead letters cannot be stored.
            case held
            case done
            case cancelled

            package var isOver: Bool { self == .done || self == .cancelled }
        }

        package var id: String
        package var state: State
        /// The range of receive times; `until` is exclusive. RFC 3339.
        package var from: String
        package var until: String
        package var condition: String?
        package var eventsPerSecond: Int?
        package var accepted: String
        /// Positions: the start of the replay, the position below which everything is settled, and the end.
        package var start: UInt64
        package var position: UInt64
        package var end: UInt64
        package var delivered: UInt64
        package var filtered: UInt64
        package var deadLettered: UInt64
        /// Positions that are no longer in the journal.
        package var missing: UInt64
        package var lastError: String?

        /// How much of the range is settled.
        package var percent: Int {
            guard position < end, start < end else { return 100 }
            return Int(Double(position - min(start, position)) / Double(end - start) * 100)
        }

        package init(
            id: String, state: State, from: String, until: String, condition: String?, eventsPerSecond: Int?,
            accepted: String, start: UInt64, position: UInt64, end: UInt64, delivered: UInt64, filtered: UInt64,
            deadLettered: UInt64, missing: UInt64, lastError: String?
        ) {
            self.id = id
            self.state = state
            self.from = from
            self.until = until
            self.condition = condition
            self.eventsPerSecond = eventsPerSecond
            self.accepted = accepted
            self.start = start
            self.position = position
            self.end = end
            self.delivered = delivered
            self.filtered = filtered
            self.deadLettered = deadLettered
            self.missing = missing
            self.lastError = lastError
        }

        enum CodingKeys: String, CodingKey {
            case id, state, from, until, accepted, start, position, end, delivered, filtered, missing
            case condition = "where"
            case eventsPerSecond = "events_per_second"
            case deadLettered = "dead_lettered"
            case lastError = "last_error"
        }
    }

    /// The dead letters of a destination.
    package struct DeadLetters: Codable, Sendable, Equatable {
        /// Dead letters stored now.
        package var letters: UInt64
        /// The size of their files.
        package var bytes: UInt64
        /// Dead letters removed because of `dead_letters.time` or `.size`, since the daemon started.
        package var expired: UInt64
        /// Dead letters delivered by a retry, since the daemon started.
        package var retried: UInt64
        /// Whether a retry is in progress.
        package var isRetrying: Bool
        /// The error of the current retry, or of the last one.
        package var lastError: String?

        package init(
            letters: UInt64, bytes: UInt64, expired: UInt64, retried: UInt64, isRetrying: Bool, lastError: String? = nil
        ) {
            self.letters = letters
            self.bytes = bytes
            self.expired = expired
            self.retried = retried
            self.isRetrying = isRetrying
            self.lastError = lastError
        }

        enum CodingKeys: String, CodingKey {
            case letters, bytes, expired, retried
            case isRetrying = "retrying"
            case lastError = "last_error"
        }
    }
}
