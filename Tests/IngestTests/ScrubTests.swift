import Events
import Platform
import Testing

@testable import Ingest

@Suite struct ScrubTests {
    /// Removes `"ip":…,`, refuses events of `nobody`, and makes events of `mallory` invalid.
    private final class Scrubber: EventScrubber {
        func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String? {
            let text = JSONText.text(json) ?? ""
            if text.contains("nobody") { return "no such user" }
            output.append(
                contentsOf: text.replacing("\"ip\":\"10.0.0.1\",", with: "").replacing("mallory", with: "\"").utf8)
            return nil
        }
    }

    private static func event(_ user: String, _ id: String) -> String {
        #"{"ip":"10.0.0.1","type":"track","event":"E","userId":"\#(user)","messageId":"\#(id)"}"#
    }

    private func client() -> (EventAdmission, RecordingAppender, SourceStatistics) {
        let (appender, statistics) = (RecordingAppender(), SourceStatistics())
        let admission = EventAdmission(
            limits: SourceLimits(
                maximumEventSize: 1 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 1 << 20),
            appender: appender, statistics: statistics, clock: SystemClock(), scrubber: Scrubber())
        return (admission, appender, statistics)
    }

    @Test func `scrubbed fields are never stored, and an event that cannot be scrubbed is refused`() {
        let (admission, appender, statistics) = client()
        let stream = NDJSONStream(origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3))
        let lines = [
            Self.event("ada", "1"), "nonsense", Self.event("nobody", "2"), Self.event("mallory", "3"),
            Self.event("bob", "4"),
        ]
        let text = Array((#"{"penstock":{"acks":true}}"# + "\n" + lines.joined(separator: "\n") + "\n").utf8)
        #expect(stream.take(text.span, through: admission, answerLimit: 1 << 20) == text.count)
        #expect(
            appender.events == [
                Self.event("ada", "1").replacing("\"ip\":\"10.0.0.1\",", with: ""),
                Self.event("bob", "4").replacing("\"ip\":\"10.0.0.1\",", with: ""),
            ])
        #expect(statistics.snapshot().refusedByReason == [.invalidJSON: 2, .notAllowed: 1])
        let answers = String(decoding: stream.takeAnswers() ?? [], as: UTF8.self)
        for line in [2, 3, 4] { #expect(answers.contains("\"line\":\(line),")) }
    }
}
