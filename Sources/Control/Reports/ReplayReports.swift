/// The request of `POST /replay`.
package struct ReplayOrder: Codable, Sendable, Equatable {
    package var destination: String
    /// The range of receive times in nanoseconds since 1970-01-01 UTC; `until` is exclusive.
    package var from: Int64
    package var until: Int64?
    /// A filter (FQL) on the event as the client sent it.
    package var condition: String?
    package var eventsPerSecond: Int?

    /// The valid range of `eventsPerSecond`, as for `replay.events_per_second` in the configuration.
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

/// The answer to a replay request. The replay was accepted and will be carried out even if the daemon restarts; or, for
/// a dry run, this is a preview.
package struct ReplayReport: Codable, Sendable, Equatable {
    /// nil for a dry run.
    package var id: String?
    package var destination: String
    /// The positions to read; `end` is exclusive.
    package var start: UInt64
    package var end: UInt64
    /// How many seconds at the start of the range are no longer in the journal; 0: none.
    package var missingSeconds: Double
    /// Only in a dry run: how many events were read, and what would happen to them.
    package var counts: Counts?
    /// Only in a dry run: true in the last line.
    package var isWhole: Bool?

    package struct Counts: Codable, Sendable, Equatable {
        package var read: UInt64 = 0
        package var delivered: UInt64 = 0
        package var filtered: UInt64 = 0
        /// Events on which the destination's transforms or mapping fail.
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

    /// The report as a line of JSON, including its line feed.
    package func line() throws -> [UInt8] { try ControlReply.json(self) }

    enum CodingKeys: String, CodingKey {
        case id, destination, start, end, counts
        case missingSeconds = "missing_seconds"
        case isWhole = "whole"
    }
}
