import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct MessagesRegistryTests {
    let analytics = Analytics(providers: [RecordingProvider()])
    var messages: MessagesRegistry { MessagesRegistry(events: analytics) }

    @Test(arguments: [(0, MessagesEvent.Size.short), (99, .short), (100, .medium), (1000, .long)])
    func `a message records its size class`(characters: Int, size: MessagesEvent.Size) {
        messages.sent(Message(text: String(repeating: "x", count: characters), recipients: ["u_1", "u_2"]))
        expect(analytics).tracked(MessagesEvent.messageSent(recipients: 2, size: size, hasAttachments: false))
    }

    @Test func `the screen is recorded`() {
        messages.opened()
        expect(analytics).viewed("Messages")
    }

    struct Offline: Error {}

    @Test func `a failed message records the error's type and the attempt`() {
        messages.failed(Offline(), attempt: 2)
        expect(analytics).tracked("Sending Failed", ["reason": "Offline", "attempt": 2])
    }

    @Test func `a search records the number of results`() {
        messages.searched(results: 7)
        expect(analytics).tracked("Messages Searched", ["results": 7])
    }
}
