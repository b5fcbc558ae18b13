import Synchronization
import Telemetry
import Testing

@Suite struct TelemetryTests {
    private struct Failed: NamedEvent {
        static let name = "failed"
        static let messageID = "00000000000000000000000000000001"
        static let lineLimit = LineLimit(lines: 2, seconds: 10)
        var destination: String
        var number = 0
        var level = Level.warning
        var affectedEvents: UInt64?
        var fields: [LogField] { [.destination(destination), .count(number)] }
        var message: String { "\(destination) failed \(number)" }
    }

    private final class Log: LogSink {
        let time = Mutex<Int64>(0)
        let entries = Mutex<[LogEntry]>([])
        func write(_ level: Level, _ line: String) { write(LogEntry(level, line)) }
        func write(_ entry: LogEntry) { entries.withLock { $0.append(entry) } }

        /// The messages since the last call.
        func take() -> [String] { entries.withLock { exchange(&$0, with: []) }.map(\.message) }
        func wait(_ seconds: Int64) { time.withLock { $0 += seconds * 1_000_000_000 } }
    }

    private let log = Log()
    private var telemetry: Telemetry { Telemetry(sink: log) { [log] in log.time.withLock { $0 } } }

    @Test func `an entry has the event's name, message id and fields`() {
        telemetry.emit(Failed(destination: "sales", number: 7))
        var expected = LogEntry(.warning, "sales failed 7")
        expected.event = "failed"
        expected.messageID = Failed.messageID
        expected.fields = [.destination("sales"), .count(7)]
        #expect(log.entries.withLock { $0 } == [expected])
    }

    @Test func `further lines about one destination are left out and counted, and no line about another`() {
        let telemetry = telemetry
        for number in 1...5 { telemetry.emit(Failed(destination: "sales", number: number)) }
        telemetry.emit(Failed(destination: "archive", number: 1))
        #expect(log.take() == ["sales failed 1", "sales failed 2", "archive failed 1"])
        telemetry.flush()
        #expect(log.take() == [], "the interval is not over")
        #expect(telemetry.counts() == ["failed": 6])
    }

    @Test func `after the interval, one line says how many were left out, also without a further event`() {
        let telemetry = telemetry
        for number in 1...5 { telemetry.emit(Failed(destination: "sales", number: number, affectedEvents: 10)) }
        _ = log.take()
        log.wait(10)
        telemetry.flush()
        let entry = log.entries.withLock { $0.last }
        #expect(log.take() == ["3 more lines like this were left out in 10 s (30 events): sales failed 2"])
        #expect(entry?.fields == [.destination("sales"), .count(30), .leftOut(3)])
        #expect(entry?.messageID == Failed.messageID && entry?.event == "failed")
        telemetry.flush()
        #expect(log.take() == [], "once")
        telemetry.emit(Failed(destination: "sales", number: 6))
        #expect(log.take() == ["sales failed 6"])
    }

    @Test func `the next event after the interval comes after the line about those that were left out`() {
        let telemetry = telemetry
        for number in 1...3 { telemetry.emit(Failed(destination: "sales", number: number)) }
        log.wait(10)
        telemetry.emit(Failed(destination: "sales", number: 4))
        #expect(
            log.take() == [
                "sales failed 1", "sales failed 2", "1 more line like this was left out in 10 s: sales failed 2",
                "sales failed 4",
            ])
    }

    @Test func `an error among the lines that were left out makes the line an error`() {
        let telemetry = telemetry
        for number in 1...3 { telemetry.emit(Failed(destination: "sales", number: number)) }
        telemetry.emit(Failed(destination: "sales", number: 4, level: .error))
        telemetry.finish()
        #expect(log.entries.withLock { $0.map(\.level) } == [.warning, .warning, .error])
        #expect(log.take().last == "2 more lines like this were left out in 10 s: sales failed 2")
    }

    @Test func `an event below the minimum level is counted only`() {
        let telemetry = telemetry
        for _ in 1...5 { telemetry.emit(Failed(destination: "sales", level: .debug)) }
        telemetry.finish()
        #expect(log.take() == [] && telemetry.counts() == ["failed": 5])
    }

    @Test func `the number of subjects is bounded, and every kind of event is still logged`() {
        let telemetry = telemetry
        for number in 0..<Telemetry.subjectLimit + 100 { telemetry.emit(Failed(destination: "\(number)")) }
        // Those beyond the bound share a window.
        #expect(log.take().count == Telemetry.subjectLimit + 2)
        log.wait(10)
        telemetry.emit(Failed(destination: "new"))
        #expect(log.take().last == "new failed 0")
        telemetry.finish()
        #expect(log.take().contains { $0.hasPrefix("98 more lines like this were left out in 10 s") })
    }
}
