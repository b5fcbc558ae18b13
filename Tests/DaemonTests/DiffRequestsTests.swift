import DaemonConfiguration
import Control
import Events
import Foundation
import Journal
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Daemon

/// The bounds of a comparison in the daemon.
@Suite struct DiffRequestsTests {
    /// A journal, and a configuration that runs and is on disk.
    private final class Rig {
        static let plain = """
            sources: { apps: { socket: /run/e.sock } }
            routes: [ { to: [archive] } ]
            destinations: { archive: { file: /tmp/archive.ndjson } }
            """
        static let narrow = plain.replacing("{ to:", with: "{ where: userId = \"u1\", to:")

        let files: RunningFiles
        let journal: Journal
        private let directory: String
        private let durable = Shared()
        private let file: String

        init(events count: Int) throws {
            directory = FileManager.default.temporaryDirectory.path + "/penstock-diff-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
            file = directory + "/penstock.yaml"
            files = RunningFiles(file: file)
            var options = JournalOptions()
            options.segmentSize = 1 << 20
            options.queueBytes = 256 << 10
            options.memoryBytes = 1 << 20
            journal = try Journal.open(
                directory: directory + "/journal", options: options, disk: SystemDisk(), clock: SystemClock(),
                telemetry: Telemetry(sink: NoLog(), now: { 0 }))
            journal.start(onDurable: { [durable] in durable.end.store($0, ordering: .releasing) })
            try write(Self.plain)
            try apply()
            try append(count)
        }

        deinit {
            journal.stop()
            try? FileManager.default.removeItem(atPath: directory)
        }

        func write(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }

        /// Runs what is on disk.
        func apply() throws {
            let loaded = ConfigurationLoader().load(file: file)
            files.applied(loaded.texts, try #require(loaded.configuration), at: 0)
        }

        /// The users of the events are u0 and u1 in turn.
        private func append(_ count: Int) throws {
            for number in 0..<count {
                let line = Array((#"{"type":"track","event":"A","userId":"u\#(number % 2)"}"# + "\n").utf8)
                var (events, refused): ([ScannedEvent], [RefusedLine]) = ([], [])
                _ = EventScanner(maximumEventSize: 1 << 10, maximumDepth: 8).scan(
                    line.span, accepted: &events, refused: &refused)
                let outcome = journal.append(
                    line.span, events: events.span, from: Origin(source: "apps", uid: 0, gid: 0, pid: 1))
                try #require(outcome == .queued(end: UInt64(number) + 1))
            }
            let deadline = SystemClock().now() + .seconds(60)
            while durable.end.load(ordering: .acquiring) < count {
                try #require(SystemClock().now() < deadline)
                Doorbell().wait(until: SystemClock().now() + .milliseconds(2))
            }
        }

        func requests(_ limits: DiffRequests.Limits = .init(), clock: any Clock = SystemClock()) -> DiffRequests {
            DiffRequests(
                running: RunningConfiguration(files: files, pluginDirectories: []), journal: journal,
                directory: directory + "/journal", clock: clock, limits: limits, later: { _, _ in })
        }

        private final class Shared: Sendable { let end = Atomic<UInt64>(0) }
        private struct NoLog: LogSink { func write(_ level: Level, _ line: String) {} }
    }

    private func withRequests(_ requests: DiffRequests, _ body: () throws -> Void) throws {
        requests.queue.start()
        defer {
            requests.queue.requestStop()
            requests.queue.awaitEnd(by: SystemClock().now() + .seconds(60))
        }
        try body()
    }

    private func ask(_ requests: DiffRequests, _ order: DiffOrder = .init()) -> Answer {
        let answer = Answer()
        requests.add(order, answer.reply)
        return answer
    }

    private func comparison(_ answer: Answer) throws -> (report: [String: Any], comparison: [String: Any]) {
        try #require(answer.wait() && answer.status == 200, "\(answer.text)")
        let report = try #require(try JSONSerialization.jsonObject(with: Data(answer.text.utf8)) as? [String: Any])
        return (report, try #require(report["comparison"] as? [String: Any], "\(answer.text)"))
    }

    private func counts(_ comparison: [String: Any]) -> [String: Int] {
        let destinations = comparison["destinations"] as? [[String: Any]]
        return (destinations?.first?["counts"] as? [String: Int] ?? [:]).filter { $0.value > 0 }
    }

    @Test(.timeLimit(.minutes(2))) func `the newest events are compared, and older ones are counted`() throws {
        let rig = try Rig(events: 10)
        try rig.write(Rig.narrow)
        var limits = DiffRequests.Limits()
        limits.events = 4
        let requests = rig.requests(limits)
        try withRequests(requests) {
            let (report, found) = try comparison(ask(requests))
            #expect(found["events"] as? Int == 4 && found["first"] as? Int == 6 && found["last"] as? Int == 9)
            #expect(counts(found) == ["same": 2, "lost": 2])
            #expect(report["older"] as? Int == 6 && found["whole"] as? Bool == true)
            #expect((report["limits"] as? [String: Int])?["events"] == 4)
            let (_, filtered) = try comparison(ask(requests, DiffOrder(condition: "userId = \"u1\"")))
            #expect(counts(filtered) == ["same": 2])
        }
    }

    @Test(.timeLimit(.minutes(2))) func `a comparison ends when its time is over, and states it`() throws {
        let rig = try Rig(events: 10)
        try rig.write(Rig.narrow)
        var limits = DiffRequests.Limits()
        limits.time = .zero
        let requests = rig.requests(limits)
        try withRequests(requests) {
            let (_, found) = try comparison(ask(requests))
            #expect(found["events"] as? Int == 0 && found["whole"] as? Bool == false)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `a second comparison is refused while one is in progress`() throws {
        let rig = try Rig(events: 2)
        try rig.write(Rig.narrow)
        let requests = rig.requests()
        // The thread has not started, so the first request is in progress until it does.
        let first = ask(requests)
        let second = ask(requests)
        #expect(second.status == 409 && second.text.contains("another comparison is in progress"))
        try withRequests(requests) {
            let (_, found) = try comparison(first)
            #expect(counts(found) == ["same": 1, "lost": 1])
            let (_, again) = try comparison(ask(requests))
            #expect(counts(again) == ["same": 1, "lost": 1])
        }
        #expect(ask(requests).status == 503, "the daemon stops")
    }

    /// Does something when the time is asked for again: between the start of a comparison and its first event.
    private final class BusyClock: Clock {
        private let calls = Atomic(0)
        private let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        func now() -> Instant {
            if calls.add(1, ordering: .relaxed).newValue == 2 { work() }
            return SystemClock().now()
        }
        func wallClock() -> Int64 { 0 }
    }

    @Test(.timeLimit(.minutes(2))) func `a reload that is applied ends the comparison`() throws {
        let rig = try Rig(events: 2)
        try rig.write(Rig.narrow)
        let loaded = ConfigurationLoader().load(file: rig.files.file)
        let configuration = try #require(loaded.configuration)
        let requests = rig.requests(
            clock: BusyClock { [files = rig.files] in files.applied(loaded.texts, configuration, at: 1) })
        try withRequests(requests) {
            let answer = ask(requests)
            #expect(answer.wait() && answer.status == 409, "\(answer.text)")
            #expect(answer.text.contains("a reload has changed the running configuration"))
            let (_, found) = try comparison(ask(requests))
            #expect(found["changes"] as? Bool == false, "the files on disk run now")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `a stop ends the comparison`() throws {
        let rig = try Rig(events: 2)
        try rig.write(Rig.narrow)
        let gate = (isIn: Doorbell(), out: Doorbell())
        let requests = rig.requests(
            clock: BusyClock {
                gate.isIn.ring()
                gate.out.wait()
            })
        requests.queue.start()
        let answer = ask(requests)
        gate.isIn.wait()
        requests.queue.requestStop()
        #expect(answer.status == 503 && answer.text.contains("the daemon is stopping"))
        gate.out.ring()
        #expect(requests.queue.awaitEnd(by: SystemClock().now() + .seconds(60)))
    }

    @Test(.timeLimit(.minutes(2))) func `errors of the files on disk are the answer`() throws {
        let rig = try Rig(events: 2)
        try rig.write(Rig.plain.replacing("[archive]", with: "[archve]"))
        let requests = rig.requests()
        try withRequests(requests) {
            let answer = ask(requests)
            #expect(answer.wait() && answer.status == 200)
            #expect(answer.text.contains("penstock.yaml:2:") && answer.text.contains("did you mean"), "\(answer.text)")
            #expect(!answer.text.contains("\"comparison\""))
        }
    }
}
