extension StatusReport.Destination {
    /// A replay to a destination: the one under way, or the last one since the daemon started.
    package struct Replay: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable {
            case running
            /// A batch did not go through and is offered again.
            case retrying
            /// Waits for a person: a credential is refused, or dead letters cannot be stored.
            case held
            case done
            case cancelled

            package var isOver: Bool { self == .done || self == .cancelled }
        }

        package var id: String
        package var state: State
        /// Times of receiving, until exclusive: RFC 3339.
        package var from: String
        package var until: String
        package var condition: String?
        package var eventsPerSecond: Int?
        package var accepted: String
        /// Positions: where it began, everything below which is settled, and where it ends.
        package var start: UInt64
        package var position: UInt64
        package var end: UInt64
        package var delivered: UInt64
        package var filtered: UInt64
        package var deadLettered: UInt64
        /// Positions that were not in the journal any more.
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

    /// Its dead letters.
    package struct DeadLetters: Codable, Sendable, Equatable {
        /// That there are.
        package var letters: UInt64
        /// That their files have.
        package var bytes: UInt64
        /// That went for the sake of `dead_letters.time` or `.size`, since the daemon started.
        package var expired: UInt64
        /// That a retry has brought to the destination, since the daemon started.
        package var retried: UInt64
        /// A retry is under way.
        package var isRetrying: Bool
        /// Why the retry under way, or the last one, has not got through.
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
