/// One line of `penstock dead-letters list --json`: an event that a destination rejected permanently.
package struct DeadLetterLine: Codable, Sendable, Equatable {
    /// The dead letter's number within its destination: its place in a listing.
    package var number: UInt64
    /// The event's position in the journal.
    package var position: UInt64
    package var messageID: String
    package var reason: String
    /// The service's answer, truncated.
    package var answer: String
    /// How many delivery attempts were made.
    package var attempts: UInt32
    /// When delivery was given up. RFC 3339.
    package var time: String
    /// When the event was received. RFC 3339; nil: the dead letter does not record it.
    package var received: String?
    /// The event's JSON, if it was requested.
    package var event: String?

    package init(
        number: UInt64, position: UInt64, messageID: String, reason: String, answer: String, attempts: UInt32,
        time: String, received: String?, event: String? = nil
    ) {
        self.number = number
        self.received = received
        self.event = event
        self.position = position
        self.messageID = messageID
        self.reason = reason
        self.answer = answer
        self.attempts = attempts
        self.time = time
    }

    /// The line as JSON, including its line feed.
    package func line() throws -> [UInt8] { try ControlReply.json(self) }

    // `messageId` is spelled as in events.
    enum CodingKeys: String, CodingKey {
        case number, position, reason, answer, attempts, time, received, event
        case messageID = "messageId"
    }
}
