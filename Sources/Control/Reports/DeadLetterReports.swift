/// One page of dead letters: the answer to `GET /dead-letters`.
package struct DeadLetterPage: Codable, Sendable, Equatable {
    package var letters: [DeadLetterLine]
    /// The number at which the next page starts; nil: this is the last page.
    package var next: UInt64?

    package init(letters: [DeadLetterLine], next: UInt64?) {
        self.letters = letters
        self.next = next
    }
}

/// Selects dead letters of a destination: all of them, or those that match every given criterion.
package struct DeadLetterSelection: Codable, Sendable, Equatable {
    package var destination: String
    /// Positions or message ids. A dead letter matches if it has one of them.
    package var chosen: [String]?
    /// A filter (FQL) on the event as the client sent it.
    package var condition: String?

    package init(destination: String, chosen: [String]? = nil, condition: String? = nil) {
        self.destination = destination
        self.chosen = chosen
        self.condition = condition
    }
}

/// The answer to `POST /dead-letters/retry` and `/dead-letters/drop`.
package struct DeadLetterCount: Codable, Sendable, Equatable {
    /// How many dead letters are retried or were dropped.
    package var letters: Int

    package init(letters: Int) { self.letters = letters }
}
