import Events
import Platform
import Testing

@testable import Ingest

/// Events are inspected before they are stored.
@Suite struct InspectionTests {
    /// Notes events of `noah`, rewrites events of `mark` and refuses events of `rex`.
    private final class Inspector: EventInspector {
        private var rewritten: [UInt8] = []
        var isOn = true

        func begin() -> Bool { isOn }

        func inspect(_ json: Span<UInt8>, _ index: EventIndex) -> Inspection {
            let text = JSONText.text(json) ?? ""
            if text.contains("noah") { return .noted(.unplanned) }
            if text.contains("rex") { return .refused(Refusal(reason: .schemaViolation, detail: "it is rex")) }
            guard text.contains("mark") else { return .passes }
            rewritten = Array((#"{"marked":true,"# + text.dropFirst()).utf8)
            return .rewritten(.schemaViolation)
        }

        func appendRewritten(to output: inout [UInt8]) { output += rewritten }
    }

    private final class Scrubber: EventScrubber {
        func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String? {
            output += Array((JSONText.text(json) ?? "").replacing("secret", with: "***").utf8)
            return nil
        }
    }

    private static func event(_ user: String, mark: String = "") -> String {
        #"{\#(mark)"type":"track","event":"secret","userId":"\#(user)"}"#
    }

    private let appender = RecordingAppender()
    private let statistics = SourceStatistics()
    private let inspector = Inspector()

    private func admission(scrubber: (any EventScrubber)? = nil) -> EventAdmission {
        EventAdmission(
            limits: SourceLimits(
                maximumEventSize: 1 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 1 << 20),
            appender: appender, statistics: statistics, clock: SystemClock(), inspector: inspector, scrubber: scrubber)
    }

    private func send(_ lines: [String], to admission: EventAdmission) -> String {
        let stream = NDJSONStream(origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3))
        let text = Array((#"{"penstock":{"acks":true}}"# + "\n" + lines.joined(separator: "\n") + "\n").utf8)
        #expect(stream.take(text.span, through: admission, answerLimit: 1 << 20) == text.count)
        return String(decoding: stream.takeAnswers() ?? [], as: UTF8.self)
    }

    @Test(arguments: [false, true])
    func `accepted, noted, rewritten and refused events keep their order and line numbers`(_ scrubs: Bool) {
        let admission = admission(scrubber: scrubs ? Scrubber() : nil)
        let users = ["ada", "noah", "bad", "mark", "rex", "noah", "bob", "mark"]
        let lines = users.map { $0 == "bad" ? "{" : Self.event($0) }
        let answers = send(lines, to: admission)
        let stored = ["ada", "noah", "mark", "noah", "bob", "mark"].map {
            Self.event($0, mark: $0 == "mark" ? #""marked":true,"# : "")
        }
        #expect(appender.events == stored.map { scrubs ? $0.replacing("secret", with: "***") : $0 })
        let snapshot = statistics.snapshot()
        #expect(snapshot.refusedByReason == [.invalidJSON: 1, .schemaViolation: 1])
        #expect(snapshot.violationsByReason == [.unplanned: 2, .schemaViolation: 2])
        #expect(answers.contains(#"{"refused":{"line":3,"#))
        #expect(
            answers.contains(
                #"{"refused":{"line":5,"messageId":null,"reason":"schema_violation","detail":"it is rex"}}"#))
    }

    @Test func `an inspector with nothing to check is not called`() {
        inspector.isOn = false
        _ = send([Self.event("rex")], to: admission())
        #expect(appender.events == [Self.event("rex")])
    }
}
