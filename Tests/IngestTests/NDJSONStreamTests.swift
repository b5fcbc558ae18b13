import Events
import Platform
import Synchronization
import Testing

@testable import Ingest

@Suite struct NDJSONStreamTests {
    static let acks = #"{"penstock":{"acks":true}}"# + "\n"
    static func event(_ id: String) -> String { #"{"type":"track","event":"E","userId":"u","messageId":"\#(id)"}"# }

    /// A client and its door, fed with text.
    final class Client {
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let door: SourceDoor
        var stream = NDJSONStream(origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3))

        init(maximumEventSize: Int = 32 << 10, maximumConsecutiveRefusals: Int = 1_000_000_000) {
            door = SourceDoor(
                limits: SourceLimits(
                    maximumEventSize: maximumEventSize, maximumDepth: 64, maximumConnections: 10,
                    maximumUnreadAnswers: 1 << 20, maximumConsecutiveRefusals: maximumConsecutiveRefusals),
                appender: appender, statistics: statistics, clock: SystemClock())
        }

        /// - Returns: how much of it was taken.
        @discardableResult
        func send(_ text: String) -> Int {
            let bytes = Array(text.utf8)
            return stream.take(bytes.span, at: door, answerLimit: 1 << 20)
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

    @Test func whoeverDoesNotAskIsNeverAnswered() {
        let client = Client()
        client.send(Self.event("1") + "\nnonsense\n")
        client.commit()
        #expect(client.answers() == "")
        #expect(client.appender.events == [Self.event("1")])
        #expect(client.statistics.snapshot().refusedByReason == [.invalidJSON: 1])
    }

    @Test func acknowledgementsAreCumulativeAndComeAfterTheCommit() {
        let client = Client()
        client.send(Self.acks + Self.event("1") + "\n" + Self.event("2") + "\n")
        #expect(client.answers() == "")
        client.commit()
        #expect(client.answers() == "{\"ack\":2}\n")
        client.send(Self.event("3") + "\n")
        client.commit()
        #expect(client.answers() == "{\"ack\":3}\n")
    }

    @Test func aRefusedLineIsToldWithItsNumberAndLeavesItsNeighboursAlone() {
        let client = Client()
        client.send(Self.acks + Self.event("1") + "\n{\"type\":\"track\",\"userId\":\"u\",\"messageId\":\"m2\"}\n" + Self.event("3") + "\n")
        let refused = client.answers()
        #expect(refused.hasPrefix(#"{"refused":{"line":2,"messageId":"m2","reason":"event_not_defined","detail":""#))
        client.commit()
        #expect(client.answers() == "{\"ack\":3}\n")
        #expect(client.appender.events == [Self.event("1"), Self.event("3")])
    }

    @Test(arguments: 1...70) func theCutsBetweenReadsDoNotMatter(size: Int) {
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

    @Test func aBusyJournalStopsTheReadingAndLosesNothing() {
        let client = Client()
        client.send(Self.acks)
        client.appender.state.withLock { $0.isBusy = true }
        let text = Self.event("1") + "\nbad\n" + Self.event("2") + "\n"
        #expect(client.send(text) == 0)
        #expect(client.stream.isStalled)
        #expect(client.answers() == "", "nothing is told about lines that were not taken")
        #expect(client.send(text) == 0)
        client.appender.state.withLock { $0.isBusy = false }
        #expect(client.send(text) == text.utf8.count)
        client.commit()
        #expect(client.appender.events == [Self.event("1"), Self.event("2")])
        #expect(client.answers().hasSuffix("{\"ack\":3}\n"))
        #expect(client.statistics.snapshot().refused == 1)
    }

    @Test func aLineThatWaitsForRoomSurvivesItsBuffer() {
        let client = Client()
        let text = Self.event("1") + "\n"
        let half = text.utf8.count / 2
        client.send("\n" + String(text.prefix(half)))
        client.appender.state.withLock { $0.isBusy = true }
        let rest = String(text.dropFirst(half))
        #expect(client.send(rest) == rest.utf8.count, "the line is whole and kept")
        #expect(client.stream.isStalled)
        client.appender.state.withLock { $0.isBusy = false }
        client.send("")
        #expect(client.appender.events == [Self.event("1")])
    }

    @Test func aJournalThatRefusesTellsWhichLines() {
        let client = Client()
        client.appender.state.withLock { $0.refusal = Refusal(reason: .journalFull, detail: "no room") }
        client.send(Self.acks + "\n" + Self.event("1") + "\nbad\n" + Self.event("2") + "\n")
        let answers = client.answers()
        let reasons = answers.split(separator: "\n").compactMap { line -> String? in
            guard let at = line.firstRange(of: "\"line\":"), let comma = line[at.upperBound...].firstIndex(of: ",") else { return nil }
            return String(line[at.upperBound..<comma]) + (line.contains("journal_full") ? " full" : " json")
        }
        #expect(reasons == ["2 full", "3 json", "4 full"])
        #expect(answers.hasSuffix("{\"ack\":4}\n"), "refused is settled: \(answers)")
    }

    @Test(arguments: [false, true]) func aLineThatIsTooLargeIsRefusedAlone(inOneRead: Bool) {
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

    @Test func aLastLineWithoutLineFeedCountsIfItIsWhole() {
        let client = Client()
        client.send(Self.acks + Self.event("1") + "\n" + Self.event("2"))
        client.stream.finish(at: client.door)
        client.commit()
        #expect(client.appender.events == [Self.event("1"), Self.event("2")])
        #expect(client.answers() == "{\"ack\":2}\n")
    }

    @Test func halfALineIsRefusedAndNamed() {
        let client = Client()
        client.send(Self.acks + String(Self.event("1").dropLast(10)))
        client.stream.finish(at: client.door)
        #expect(client.appender.events == [])
        #expect(client.statistics.snapshot().refusedByReason == [.invalidJSON: 1])
        #expect(client.answers().contains(#""line":1"#))
    }

    @Test(arguments: [
        #"{"penstock":{"acks":1}}"#, #"{"penstock":true}"#, #"{"penstock""#, #"{"penstock":{"acks":"yes"}}"#,
    ])
    func aControlLineThatMakesNoSenseEndsTheConversation(line: String) {
        let client = Client()
        client.send(line + "\n" + Self.event("1") + "\n")
        #expect(client.stream.hasEnded)
        #expect(client.answers().hasPrefix(#"{"refused":{"line":0,"#))
        #expect(client.appender.events == [])
    }

    @Test func refusalsStopTheReadingOnceTheAnswersAreMany() {
        let client = Client()
        client.send(Self.acks)
        let text = Array(String(repeating: "x\n", count: 100_000).utf8)
        let taken = client.stream.take(text.span, at: client.door, answerLimit: 1000)
        #expect(taken < text.count)
        #expect(taken <= NDJSONStream.sliceWithAnswers)
        #expect(!client.stream.isStalled)
        var rest = Array(text[taken...])
        while !rest.isEmpty {
            _ = client.stream.takeAnswers()
            let more = client.stream.take(rest.span, at: client.door, answerLimit: 1000)
            #expect(more > 0)
            guard more > 0 else { return }
            rest.removeFirst(more)
        }
        #expect(client.statistics.snapshot().refused == 100_000)
    }
}
