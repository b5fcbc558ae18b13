import Events
import Platform
import Synchronization
import Testing

@testable import Ingest

@Suite struct NDJSONStreamTests {
    static let acks = #"{"penstock":{"acks":true}}"# + "\n"
    static func event(_ id: String) -> String { #"{"type":"track","event":"E","userId":"u","messageId":"\#(id)"}"# }

    /// A client's stream with its admission, appender and statistics. Tests feed it text.
    final class Client {
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let admission: EventAdmission
        let stream = NDJSONStream(origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3))

        init(maximumEventSize: Int = 32 << 10, maximumConsecutiveRefusals: Int = 1_000_000_000) {
            admission = EventAdmission(
                limits: SourceLimits(
                    maximumEventSize: maximumEventSize, maximumDepth: 64, maximumConnections: 10,
                    maximumUnreadAnswers: 1 << 20, maximumConsecutiveRefusals: maximumConsecutiveRefusals),
                appender: appender, statistics: statistics, clock: SystemClock())
        }

        /// - Returns: the number of bytes that the stream took.
        @discardableResult
        func send(_ text: String) -> Int {
            let bytes = Array(text.utf8)
            return stream.take(bytes.span, through: admission, answerLimit: 1 << 20)
        }

        func answers() -> String {
            String(decoding: stream.takeAnswers() ?? [], as: UTF8.self)
        }

        func commit() {
            let end = appender.state.withLock { state in
                state.durableEnd = UInt64(state.events.count)
                return state.durableEnd
            }
            stream.durable(upTo: end)
        }
    }

    @Test func `a client that does not ask for acknowledgements gets no answers`() {
        let client = Client()
        client.send(Self.event("1") + "\nnonsense\n")
        client.commit()
        #expect(client.answers() == "")
        #expect(client.appender.events == [Self.event("1")])
        #expect(client.statistics.snapshot().refusedByReason == [.invalidJSON: 1])
    }

    @Test func `acknowledgements are cumulative and are sent after the commit`() {
        let client = Client()
        client.send(Self.acks + Self.event("1") + "\n" + Self.event("2") + "\n")
        #expect(client.answers() == "")
        client.commit()
        #expect(client.answers() == "{\"ack\":2}\n")
        client.send(Self.event("3") + "\n")
        client.commit()
        #expect(client.answers() == "{\"ack\":3}\n")
    }

    @Test func `a refused line is reported with its number and does not affect its neighbors`() {
        let client = Client()
        client.send(
            Self.acks + Self.event("1") + "\n{\"type\":\"track\",\"userId\":\"u\",\"messageId\":\"m2\"}\n"
                + Self.event("3") + "\n")
        let refused = client.answers()
        #expect(refused.hasPrefix(#"{"refused":{"line":2,"messageId":"m2","reason":"event_not_defined","detail":""#))
        client.commit()
        #expect(client.answers() == "{\"ack\":3}\n")
        #expect(client.appender.events == [Self.event("1"), Self.event("3")])
    }

    @Test(arguments: 1...70) func `reads may cut the input anywhere`(size: Int) {
        let client = Client()
        let text = Array((Self.acks + Self.event("1") + "\r\n\nbad\n" + Self.event("2") + "\n").utf8)
        var at = 0
        while at < text.count {
            let end = min(at + size, text.count)
            client.send(String(decoding: text[at..<end], as: UTF8.self))
            at = end
        }
        client.commit()
        #expect(client.appender.events == [Self.event("1"), Self.event("2")])
        let answers = client.answers()
        #expect(answers.contains(#""line":3"#))
        #expect(answers.hasSuffix("{\"ack\":4}\n"))
    }

    @Test func `a busy journal pauses the stream and loses no line`() {
        let client = Client()
        client.send(Self.acks)
        client.appender.state.withLock { $0.isBusy = true }
        let text = Self.event("1") + "\nbad\n" + Self.event("2") + "\n"
        #expect(client.send(text) == 0)
        #expect(client.stream.isStalled)
        #expect(client.answers() == "", "lines that were not taken are not answered")
        #expect(client.send(text) == 0)
        client.appender.state.withLock { $0.isBusy = false }
        #expect(client.send(text) == text.utf8.count)
        client.commit()
        #expect(client.appender.events == [Self.event("1"), Self.event("2")])
        #expect(client.answers().hasSuffix("{\"ack\":3}\n"))
        #expect(client.statistics.snapshot().refused == 1)
    }

    @Test func `a line that waits for room is kept after its read buffer is gone`() {
        let client = Client()
        let text = Self.event("1") + "\n"
        let half = text.utf8.count / 2
        client.send("\n" + String(text.prefix(half)))
        client.appender.state.withLock { $0.isBusy = true }
        let rest = String(text.dropFirst(half))
        #expect(client.send(rest) == rest.utf8.count, "the stream keeps the whole line")
        #expect(client.stream.isStalled)
        client.appender.state.withLock { $0.isBusy = false }
        client.send("")
        #expect(client.appender.events == [Self.event("1")])
    }

    @Test func `events that the journal refuses are reported with their line numbers`() {
        let client = Client()
        client.appender.state.withLock { $0.refusal = Refusal(reason: .journalFull, detail: "no room") }
        client.send(Self.acks + "\n" + Self.event("1") + "\nbad\n" + Self.event("2") + "\n")
        let answers = client.answers()
        let reasons = answers.split(separator: "\n").compactMap { line -> String? in
            guard let at = line.firstRange(of: "\"line\":"), let comma = line[at.upperBound...].firstIndex(of: ",")
            else { return nil }
            return String(line[at.upperBound..<comma]) + (line.contains("journal_full") ? " full" : " json")
        }
        #expect(reasons == ["2 full", "3 json", "4 full"])
        #expect(answers.hasSuffix("{\"ack\":4}\n"), "refused lines are acknowledged: \(answers)")
    }

    @Test(arguments: [false, true]) func `a line that is too large is refused alone`(inOneRead: Bool) {
        let client = Client(maximumEventSize: 1000)
        let large = #"{"type":"track","event":"E","userId":"\#(String(repeating: "x", count: 5000))"}"#
        let text = Self.acks + Self.event("1") + "\n" + large + "\n" + Self.event("2") + "\n"
        if inOneRead {
            client.send(text)
        } else {
            for character in text { client.send(String(character)) }
        }
        client.commit()
        #expect(client.appender.events == [Self.event("1"), Self.event("2")])
        let answers = client.answers()
        #expect(answers.contains(#""line":2,"messageId":null,"reason":"too_large""#))
        #expect(answers.hasSuffix("{\"ack\":3}\n"))
    }

    @Test func `a last line without a line feed is accepted if it is whole`() {
        let client = Client()
        client.send(Self.acks + Self.event("1") + "\n" + Self.event("2"))
        client.stream.finish(through: client.admission)
        client.commit()
        #expect(client.appender.events == [Self.event("1"), Self.event("2")])
        #expect(client.answers() == "{\"ack\":2}\n")
    }

    @Test func `a truncated last line is refused with its number`() {
        let client = Client()
        client.send(Self.acks + String(Self.event("1").dropLast(10)))
        client.stream.finish(through: client.admission)
        #expect(client.appender.events == [])
        #expect(client.statistics.snapshot().refusedByReason == [.invalidJSON: 1])
        #expect(client.answers().contains(#""line":1"#))
    }

    @Test(arguments: [
        #"{"penstock":{"acks":1}}"#, #"{"penstock":true}"#, #"{"penstock""#, #"{"penstock":{"acks":"yes"}}"#,
    ])
    func `an invalid control line ends the connection`(line: String) {
        let client = Client()
        client.send(line + "\n" + Self.event("1") + "\n")
        #expect(client.stream.hasEnded)
        #expect(client.answers().hasPrefix(#"{"refused":{"line":0,"#))
        #expect(client.appender.events == [])
    }

    @Test func `the stream pauses when refusals fill the answer buffer`() {
        let client = Client()
        client.send(Self.acks)
        let text = Array(String(repeating: "x\n", count: 100_000).utf8)
        let taken = client.stream.take(text.span, through: client.admission, answerLimit: 1000)
        #expect(taken < text.count)
        #expect(taken <= NDJSONStream.sliceWithAnswers)
        #expect(!client.stream.isStalled)
        var rest = Array(text[taken...])
        while !rest.isEmpty {
            _ = client.stream.takeAnswers()
            let more = client.stream.take(rest.span, through: client.admission, answerLimit: 1000)
            #expect(more > 0)
            guard more > 0 else { return }
            rest.removeFirst(more)
        }
        #expect(client.statistics.snapshot().refused == 100_000)
    }
}
