/// Dead letters as `GET /dead-letters` answers: one page of them.
package struct DeadLetterPage: Codable, Sendable, Equatable {
    package var letters: [DeadLetterLine]
    /// The number to go on from; nil: that was all.
    package var next: UInt64?

    package init(letters: [DeadLetterLine], next: UInt64?) {
        self.letters = letters
        self.next = next
    }
}

/// Which dead letters of a destination are meant: all, or those that every criterion given takes.
package struct DeadLetterSelection: Codable, Sendable, Equatable {
    package var destination: String
    /// Positions or message ids, of which it is one.
    package var chosen: [String]?
    /// A filter (FQL) on the event as the client sent it.
    package var condition: String?

    package init(destination: String, chosen: [String]? = nil, condition: String? = nil) {
        self.destination = destination
        self.chosen = chosen
        self.condition = condition
    }
}

/// What `POST /dead-letters/retry` and `/dead-letters/drop` answer.
package struct DeadLetterCount: Codable, Sendable, Equatable {
    /// How many are tried again, or are gone.
    package var letters: Int

    package init(letters: Int) { self.letters = letters }
}
