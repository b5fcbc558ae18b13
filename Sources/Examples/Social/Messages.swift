import Penstock

struct Message {
    var text: String
    var recipients: [String]
    var attachments: [String] = []
}

enum MessagesEvent: AnalyticsEvent, Equatable {
    /// The size of a text in coarse steps, so that its length does not identify a message.
    enum Size: String, Encodable { case short, medium, long }

    case messageSent(recipients: Int, size: Size, hasAttachments: Bool)
    case sendingFailed(reason: String, attempt: Int)

    static func sent(_ message: Message) -> MessagesEvent {
        let size: Size =
            switch message.text.count {
            case ..<100: .short
            case ..<1000: .medium
            default: .long
            }
        return .messageSent(
            recipients: message.recipients.count, size: size, hasAttachments: !message.attachments.isEmpty)
    }
}

struct MessagesRegistry: Sendable {
    let events: any EventSending

    func sent(_ message: Message) { events.track(MessagesEvent.sent(message)) }

    /// - Parameter attempt: The number of the attempt, from 1.
    func failed(_ error: any Error, attempt: Int) {
        events.track(MessagesEvent.sendingFailed(reason: "\(type(of: error))", attempt: attempt))
    }

    /// Records the number of results. The search terms are the user's own text and are not recorded.
    func searched(results: Int) { events.track("Messages Searched", ["results": PropertyValue(results)]) }
}
