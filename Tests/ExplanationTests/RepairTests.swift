import DaemonConfiguration
import Events
import Explanation
import Testing

/// Events that the source repairs before it stores them.
@Suite struct RepairTests {
    private func explain(_ event: String, _ keys: String) throws -> EventExplanation {
        let loaded = try configuration(
            """
            sources: { apps: { socket: /run/s\(keys) } }
            routes: [{ name: all, to: [archive] }]
            destinations: { archive: { file: /var/archive/%Y.ndjson } }
            """)
        return EventExplainer(loaded).explain(Array(event.utf8), position: 7, receivedAt: morning)
    }

    private static let line = #"{"type":"page","userId":7,"name":"\ud83d"}"#

    @Test func `the event is shown as sent and as stored`() throws {
        let explanation = try explain(Self.line, ", ids: lenient, invalid_text: replace")
        #expect(explanation.text == Array(Self.line.utf8))
        #expect(explanation.stored == Array(#"{"type":"page","userId":"7","name":"\ufffd"}"#.utf8))
        #expect(explanation.destinations.count == 1)
    }

    @Test(arguments: ["", ", ids: lenient", ", invalid_text: replace", ", ids: strict, invalid_text: refuse"])
    func `a fault that the source does not repair is refused`(_ keys: String) throws {
        let explanation = try explain(Self.line, keys)
        guard case .refused(let refusal) = explanation.verdict else {
            Issue.record("it is accepted")
            return
        }
        #expect(refusal.reason == (keys.hasSuffix("replace") ? .idNotString : .invalidJSON))
    }

    @Test func `an event without faults is stored as sent`() throws {
        let explanation = try explain(#"{"type":"page","userId":"7"}"#, ", ids: lenient")
        #expect(explanation.stored == nil)
    }
}
