/// One line of `penstock dead-letters list --json`: an event that a destination refused for good.
package struct DeadLetterLine: Codable, Sendable, Equatable {
    /// Which letter of the destination's it is: the place in a listing.
    package var number: UInt64
    /// In the journal.
    package var position: UInt64
    package var messageID: String
    package var reason: String
    /// What the service said, shortened.
    package var answer: String
    /// How often it was offered.
    package var attempts: UInt32
    /// RFC 3339: when it was given up.
    package var time: String
    /// RFC 3339: when the event was received; nil: the letter does not say.
    package var received: String?
    /// The event's JSON, where it was asked for.
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

    /// The line, with its line feed.
    package func line() throws -> [UInt8] { try ControlReply.json(self) }

    // `messageId` as events spell it.
    enum CodingKeys: String, CodingKey {
        case number, position, reason, answer, attempts, time, received, event
        case messageID = "messageId"
    }
}
