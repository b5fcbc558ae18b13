import Events
import Platform
import Synchronization
import Testing

@testable import Ingest

/// `ids: lenient` and `invalid_text: replace`.
@Suite struct RepairTests {
    final class Client {
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let admission: EventAdmission
        let stream = NDJSONStream(origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3))

        init(
            _ repairs: EventRepairs, maximumEventSize: Int = 32 << 10, maximumConsecutiveRefusals: Int = 1_000_000,
            inspector: (any EventInspector)? = nil, scrubber: (any EventScrubber)? = nil
        ) {
            admission = EventAdmission(
                limits: SourceLimits(
                    maximumEventSize: maximumEventSize, maximumDepth: 64, maximumConnections: 10,
                    maximumUnreadAnswers: 1 << 20, maximumConsecutiveRefusals: maximumConsecutiveRefusals,
                    repairs: repairs),
                appender: appender, statistics: statistics, clock: SystemClock(), inspector: inspector,
                scrubber: scrubber)
        }

        /// Sends the lines after the control line. Returns the answers.
        @discardableResult
        func send(_ lines: [String]) -> String {
            let text = Array((NDJSONStreamTests.acks + lines.map { $0 + "\n" }.joined()).utf8)
            #expect(stream.take(text.span, through: admission, answerLimit: 1 << 20) == text.count)
            return String(decoding: stream.takeAnswers() ?? [], as: UTF8.self)
        }

        /// What one line is stored as; nil if it is refused.
        func stored(_ line: String) -> String? {
            send([line])
            return appender.events.last
        }

        var normalised: [Normalisation: UInt64] { statistics.snapshot().normalised }
        var reasons: [RefusalReason: UInt64] { statistics.snapshot().refusedByReason }
    }

    static let both: EventRepairs = [.numericIDs, .loneSurrogates]

    @Test(arguments: [
        "0", "-0", "123", "1.50", "1e400", "-1E+400", "0.1e-7", "123456789012345678901234567890", "9223372036854775808",
    ]) func `a numeric id becomes a string with the number's own text`(_ number: String) {
        for field in ["userId", "anonymousId", "previousId", "groupId", "messageId"] {
            let client = Client(.numericIDs)
            let line = #"{ "\#(field)" : \#(number) ,"type":"page","userId" : "u" }"#
                .replacing(field == "userId" ? #","userId" : "u""# : "nothing", with: "")
            #expect(client.stored(line) == line.replacing(": \(number) ", with: ": \"\(number)\" "))
            #expect(client.normalised == [.numericIDs: 1])
            #expect(client.reasons == [:])
        }
    }

    @Test func `several numeric ids of an event are repaired together and count once`() {
        let client = Client(.numericIDs)
        let line =
            #"{"messageId":5,"type":"alias","userId":1,"previousId":2,"anonymousId":3,"groupId":4,"properties":{"userId":6}}"#
        #expect(
            client.stored(line)
                == #"{"messageId":"5","type":"alias","userId":"1","previousId":"2","anonymousId":"3","groupId":"4","properties":{"userId":6}}"#
        )
        #expect(client.normalised == [.numericIDs: 1])
    }

    @Test(arguments: ["true", "false", "{}", "[]", "[1]"])
    func `an id that is no number stays refused`(_ value: String) {
        let client = Client(Self.both)
        let answers = client.send([
            #"{"type":"page","userId":\#(value)}"#, #"{"type":"page","userId":7,"groupId":\#(value)}"#,
        ])
        #expect(client.appender.events == [])
        #expect(client.reasons == [.idNotString: 2])
        #expect(client.normalised == [:])
        #expect(answers.contains("userId: expected a string") && answers.contains("groupId: expected a string"))
    }

    @Test func `without ids: lenient, a numeric id is refused`() {
        for repairs in [[], EventRepairs.loneSurrogates] {
            let client = Client(repairs)
            #expect(client.stored(#"{"type":"page","userId":7}"#) == nil)
            #expect(client.reasons == [.idNotString: 1])
        }
    }

    @Test(arguments: [
        (#""\ud83d""#, #""\ufffd""#), (#""\uDE00""#, #""\ufffd""#), (#""a\ud83db""#, #""a\ufffdb""#),
        (#""\ud83d\ud83d\ude00""#, #""\ufffd\ud83d\ude00""#), (#""\ude00\ud83d""#, #""\ufffd\ufffd""#),
        (#""\\\ud83d\n""#, #""\\\ufffd\n""#), (#""\ud83d\\ude00""#, #""\ufffd\\ude00""#),
        (#"{"\ud83d":["\udfff","\ud83d\ude00"]}"#, #"{"\ufffd":["\ufffd","\ud83d\ude00"]}"#),
    ]) func `half of a surrogate pair becomes U+FFFD, and all other bytes stay`(_ value: String, _ stored: String) {
        let client = Client(.loneSurrogates)
        let line = #" {"type" :"page","userId":"u","properties":{"v": \#(value)}}"#
        #expect(client.stored(line) == #"{"type" :"page","userId":"u","properties":{"v": \#(stored)}}"#)
        #expect(client.normalised == [.replacedText: 1])
    }

    @Test(arguments: [
        #"{"type":"page","userId":"\ud83d","name":"\q"}"#, #"{"type":"page","userId":"\ud83d","name":"\ud83d\u12g4"}"#,
        #"{"type":"page","userId":"\ud83d","name":"\u12"}"#,
    ]) func `other faults beside half of a surrogate pair are refused`(_ line: String) {
        let client = Client(Self.both)
        #expect(client.stored(line) == nil)
        #expect(client.reasons == [.invalidJSON: 1])
        #expect(client.normalised == [:])
    }

    @Test func `bytes that are not UTF-8 are not replaced`() {
        let client = Client(Self.both)
        let bytes = Array(#"{"type":"page","userId":"u"#.utf8) + [0xED, 0xA0, 0xBD] + Array("\"}\n".utf8)
        #expect(client.stream.take(bytes.span, through: client.admission, answerLimit: 1) == bytes.count)
        #expect(client.stream.take([10].span, through: client.admission, answerLimit: 1) == 1)
        #expect(client.reasons == [.invalidUTF8: 1])
    }

    @Test func `a line with both faults is repaired, and counted under both`() {
        let client = Client(Self.both)
        #expect(
            client.stored(#"{"type":"page","userId":7,"anonymousId":"","name":"\ud83d"}"#)
                == #"{"type":"page","userId":"7","anonymousId":"","name":"\ufffd"}"#)
        #expect(client.normalised == [.numericIDs: 1, .replacedText: 1, .emptyIDs: 1])
        for one in [EventRepairs.numericIDs, .loneSurrogates] {
            #expect(Client(one).stored(#"{"type":"page","userId":7,"name":"\ud83d"}"#) == nil)
        }
    }

    @Test func `repaired, accepted and refused lines keep their order and their numbers`() {
        let client = Client(Self.both)
        func event(_ id: String) -> String { #"{"type":"page","userId":\#(id)}"# }
        let answers = client.send([
            event("1"), event(#""a""#), "", event("true"), event("2"), "{", event(#""\ud83d""#), event(#""b""#),
            event(#""c""#), #"{"type":"page","userId":3,"properties":1}"#, event("4"),
        ])
        #expect(
            client.appender.events
                == [#""1""#, #""a""#, #""2""#, #""\ufffd""#, #""b""#, #""c""#, #""4""#].map(event))
        #expect(client.reasons == [.idNotString: 1, .invalidJSON: 1, .propertiesNotObject: 1])
        for (line, reason) in [(4, "id_not_string"), (6, "invalid_json"), (10, "properties_not_object")] {
            #expect(answers.contains("\"line\":\(line),\"messageId\":null,\"reason\":\"\(reason)\""))
        }
    }

    @Test func `an event that grows above the limit is refused as too large`() {
        let line = #"{"type":"page","userId":12345678}"#
        let size = line.utf8.count
        #expect(Client(.numericIDs, maximumEventSize: size + 2).stored(line) != nil)
        let client = Client(.numericIDs, maximumEventSize: size + 1)
        #expect(client.stored(line) == nil)
        #expect(client.reasons == [.tooLarge: 1])
        #expect(client.normalised == [:])
    }

    @Test func `a messageId of more than 100 digits is refused`() {
        let client = Client(.numericIDs)
        let digits = String(repeating: "7", count: 101)
        #expect(client.stored(#"{"type":"page","userId":"u","messageId":\#(digits)}"#) == nil)
        #expect(client.reasons == [.schemaViolation: 1])
    }

    @Test func `repaired lines do not count as refused ones in a row`() {
        let client = Client(.numericIDs, maximumConsecutiveRefusals: 3)
        client.send((0..<1000).map { #"{"type":"page","userId":\#($0)}"# })
        #expect(client.appender.events.count == 1000)
        #expect(!client.stream.hasEnded)
        #expect(client.normalised == [.numericIDs: 1000])
    }

    @Test func `repaired events that the journal had no room for are offered again, and counted once`() {
        let client = Client(.numericIDs)
        client.appender.state.withLock { $0.isBusy = true }
        let text = Array((#"{"type":"page","userId":7}"# + "\n").utf8)
        // The first line may be a control line and is kept; the next lines are taken from the buffer.
        #expect(client.stream.take([10].span, through: client.admission, answerLimit: 1) == 1)
        #expect(client.stream.take(text.span, through: client.admission, answerLimit: 1) == 0)
        client.appender.state.withLock { $0.isBusy = false }
        #expect(client.stream.take(text.span, through: client.admission, answerLimit: 1) == text.count)
        #expect(client.appender.events == [#"{"type":"page","userId":"7"}"#])
        #expect(client.normalised == [.numericIDs: 1])
    }

    @Test func `one scan repairs a bounded number of lines, and the next one continues`() {
        let client = Client(.numericIDs)
        let bytes = Array(String(repeating: #"{"type":"page","userId":7}"# + "\n", count: 2000).utf8)
        let first = client.admission.scan(bytes.span, maximumRefused: 1024)
        #expect((256...512).contains(first.lines))
        #expect(client.admission.accepted.count == first.lines)
        let all = client.admission.scan(bytes.span, maximumRefused: .max)
        #expect(all.lines == 2000 && client.admission.accepted.count == 2000)
    }

    @Test func `scrubbing sees the repaired event`() {
        final class Scrubber: EventScrubber {
            func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String? {
                guard index.userID.isPresent else { return "no user" }
                output += Array((JSONText.text(json) ?? "").replacing("secret", with: "***").utf8)
                return nil
            }
        }
        let client = Client(Self.both, scrubber: Scrubber())
        client.send([
            #"{"type":"page","userId":"a"}"#, "no", #"{"type":"page","userId":7,"name":"secret"}"#,
            #"{"type":"page","anonymousId":8}"#,
        ])
        #expect(
            client.appender.events == [#"{"type":"page","userId":"a"}"#, #"{"type":"page","userId":"7","name":"***"}"#])
        #expect(client.reasons == [.invalidJSON: 1, .notAllowed: 1])
    }
}
