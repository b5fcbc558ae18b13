/// The request of `POST /diff`: what would a reload change? Without members, it asks for the newest events.
package struct DiffOrder: Codable, Sendable, Equatable {
    /// The earliest receive time, in nanoseconds since 1970-01-01 UTC; nil: all events that the daemon compares.
    package var from: Int64?
    /// A filter (FQL) on the event as the client sent it.
    package var condition: String?
    /// The most samples of each kind of change for a destination; nil: the default of `penstock diff`.
    package var samples: Int?

    /// The valid range of `samples`. The answer is held in memory.
    package static let sampleNumbers = 0...10

    package init(from: Int64? = nil, condition: String? = nil, samples: Int? = nil) {
        self.from = from
        self.condition = condition
        self.samples = samples
    }

    enum CodingKeys: String, CodingKey {
        case from, samples
        case condition = "where"
    }
}
