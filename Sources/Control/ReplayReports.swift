/// What `POST /replay` is asked for.
package struct ReplayOrder: Codable, Sendable, Equatable {
    package var destination: String
    /// Times of receiving, until exclusive: nanoseconds since 1970-01-01 UTC.
    package var from: Int64
    package var until: Int64?
    /// A filter (FQL) on the event as the client sent it.
    package var condition: String?
    package var eventsPerSecond: Int?

    /// What `eventsPerSecond` may be: as `replay.events_per_second` in the configuration.
    package static let rates = 1...100_000_000

    package init(
        destination: String, from: Int64, until: Int64? = nil, condition: String? = nil, eventsPerSecond: Int? = nil
    ) {
        self.destination = destination
        self.from = from
        self.until = until
        self.condition = condition
        self.eventsPerSecond = eventsPerSecond
    }

    enum CodingKeys: String, CodingKey {
        case destination, from, until
        case condition = "where"
        case eventsPerSecond = "events_per_second"
    }
}

/// What is answered: the replay was accepted, and will be done whatever becomes of the daemon; or, of a dry
/// run, what would go.
package struct ReplayReport: Codable, Sendable, Equatable {
    /// nil: a dry run.
    package var id: String?
    package var destination: String
    /// Positions to be read, `end` exclusive.
    package var start: UInt64
    package var end: UInt64
    /// Seconds at the beginning of the range that the journal does not hold any more; 0: it holds all of it.
    package var missingSeconds: Double
    /// Of a dry run: events read, and what would become of them.
    package var counts: Counts?
    /// Of a dry run: the last line.
    package var isWhole: Bool?

    package struct Counts: Codable, Sendable, Equatable {
        package var read: UInt64 = 0
        package var delivered: UInt64 = 0
        package var filtered: UInt64 = 0
        /// The destination's transforms or mapping cannot do their work on them.
        package var rejected: UInt64 = 0

        package init() {}
    }

    package init(id: String?, destination: String, start: UInt64, end: UInt64, missingSeconds: Double) {
        self.id = id
        self.destination = destination
        self.start = start
        self.end = end
        self.missingSeconds = missingSeconds
    }

    /// As a line of JSON, with its line feed.
    package func line() throws -> [UInt8] { try ControlReply.json(self) }

    enum CodingKeys: String, CodingKey {
        case id, destination, start, end, counts
        case missingSeconds = "missing_seconds"
        case isWhole = "whole"
    }
}
