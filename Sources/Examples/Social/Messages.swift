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

/// A channel is typed by the area's enum, so that calls need only the name of the case.
struct MessagesRegistry: Sendable {
    private let messages: AnalyticsChannel<MessagesEvent>

    init(events: any EventSending) { messages = events.of(MessagesEvent.self) }

    func sent(_ message: Message) { messages.track(.sent(message)) }

    /// - Parameter attempt: The number of the attempt, from 1.
    func failed(_ error: any Error, attempt: Int) {
        messages.track(.sendingFailed(reason: "\(type(of: error))", attempt: attempt))
    }

    /// Records the number of results. The search terms are the user's own text and are not recorded.
    func searched(results: Int) { messages.events.track("Messages Searched", ["results": results]) }

    func opened() { messages.events.screen("Messages") }
}
