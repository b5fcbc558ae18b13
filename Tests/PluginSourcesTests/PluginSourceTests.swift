import Events
import Foundation
import Ingest
import Platform
import PluginHosting
import PluginSources
import PluginTesting
import Testing

/// What a source plugin offers, as the journal gets it.
@Suite struct PluginSourceTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addCounting()
    }

    @Test(arguments: ["PLAIN", "BOTH"])
    func `all events of all partitions enter the journal in order, and each offer is reported as stored`(
        variant: String
    ) throws {
        try directory.addCounting(variant)
        let stage = try SourceStage(#"{"lanes":5,"events":5000,"batch":100}"#, in: directory)
        #expect(pluginEventually { stage.counter("durable") == 250 })
        #expect(stage.hasAll(lanes: 5, events: 5000))
        #expect(stage.counter("out_of_order") == 0)
        #expect(stage.counter("connects") == 1)
        let status = stage.source.status
        #expect(status.state == .up)
        #expect(status.openLanes == 5)
        #expect(status.lanes.map(\.name) == (0..<5).map { "lane-\($0)" })
        #expect(status.lanes.allSatisfy { $0.position == "5000" })
        #expect(status.plugin?.name == "counting")
        #expect(status.restarts == 0)
        #expect(stage.statistics.snapshot().accepted == 25_000)
        let origin = try #require(stage.journal.entries.first?.origin)
        #expect(origin.source == "shop")
        #expect(origin.uid == geteuid())
        #expect(origin.gid == getegid())
        #expect(origin.pid != getpid() && origin.pid > 1)
        stage.stop()
        #expect(stage.counter("destroys") == 1)
        #expect(stage.source.status.state == .stopped)
        // A slow disk is no fault of the source.
        let faults = stage.lines.filter { !$0.hasPrefix("info") && !$0.contains("events wait for the journal") }
        #expect(faults.isEmpty, "\(stage.lines)")
    }

    @Test func `events of an origin are stored once, however often they come`() throws {
        let journal = LaneJournal()
        for round in 0..<3 {
            let stage = try SourceStage(
                #"{"mode":"origin","lanes":2,"events":1000,"batch":30}"#, in: directory, journal: journal)
            #expect(pluginEventually { stage.counter("durable") == 68 })
            #expect(stage.hasAll(lanes: 2, events: 1000))
            let numbers = stage.statistics.snapshot()
            #expect(numbers.accepted == (round == 0 ? 2000 : 0) && numbers.duplicates == (round == 0 ? 0 : 2000))
            stage.stop()
        }
        let origin = try #require(OriginID("0190163d-8694-4b1a-9b7c-2f3e4d5c6b7a".utf8))
        #expect(journal.mark("lane-1", origin) == OriginPlace(position: 499, part: 1))
    }

    /// What a stage does whose host was stopped for longer than the right to read a lane.
    @Test func `nothing is stored of a lane that may belong to another host`() throws {
        let stage = try SourceStage(#"{"mode":"expires","events":10}"#, in: directory)
        #expect(pluginEventually { stage.source.status.restarts >= 2 })
        #expect(stage.reason?.contains("another host may read lane-0 by now") == true)
        #expect(stage.journal.count == 0)
    }

    @Test func `a process that is killed ten times neither loses nor repeats an event`() throws {
        let stage = try SourceStage(#"{"lanes":3,"events":30000,"batch":7,"size":100}"#, in: directory) {
            $0.window = 200_000
        }
        var last = 0
        for round in 1...10 {
            #expect(pluginEventually { stage.journal.count >= min(last + 500, 90_000) })
            // On a busy machine, all events may be stored before the last kill: then the newest process has none, and
            // the process of the last event is gone.
            if stage.journal.count == last { break }
            let process = try #require(stage.journal.entries.last?.origin.pid)
            kill(process, SIGKILL)
            #expect(
                pluginEventually { stage.source.status.restarts == UInt64(round) && stage.source.status.state == .up })
            last = stage.journal.count
            #expect(stage.reason?.contains("SIGKILL") == true)
        }
        #expect(pluginEventually { stage.journal.count >= 90_000 && stage.gauge("done") == 1 })
        #expect(stage.hasAll(lanes: 3, events: 30_000))
    }

    @Test func `a source that starts again begins at the stored positions`() throws {
        let journal = LaneJournal()
        let first = try SourceStage(#"{"lanes":2,"events":100}"#, in: directory, journal: journal)
        #expect(pluginEventually { first.counter("durable") == 20 })
        first.stop()
        let second = try SourceStage(#"{"lanes":2,"events":150}"#, in: directory, journal: journal)
        #expect(pluginEventually { second.counter("durable") == 10 })
        #expect(second.gauge("known_lanes") == 2)
        #expect(second.hasAll(lanes: 2, events: 150))
    }

    @Test func `events that are refused are named by their index, and the others are stored`() throws {
        let stage = try SourceStage(#"{"mode":"odd"}"#, in: directory)
        #expect(pluginEventually { stage.counter("durable") == 1 && stage.hasLine("refused 12") })
        let stored = stage.journal.entries.map(\.json)
        #expect(stored.count == 3)
        #expect(stored[1].contains(#""event":"a \" \\""#) && !stored[1].contains("\n"), "\(stored)")
        #expect(stored[2].contains("last"))
        let expected = [
            (2, "invalid_json: a string of the event contains a line feed"), (3, "invalid_json: the event is empty"),
            (4, "invalid_json: the event is empty"), (5, "invalid_json: the event is empty"), (6, "invalid_json"),
            (7, "too_large"), (8, "invalid_json"), (9, "not_an_object"), (10, "event_not_defined"),
            (11, "invalid_utf8"), (12, "invalid_json"),
        ]
        for (index, words) in expected {
            #expect(stage.hasLine("refused \(index): \(words)"), "\(index) \(words): \(stage.lines)")
        }
        #expect(stage.lines.filter { $0.contains("refused ") }.count == expected.count)
        let counts = stage.statistics.snapshot()
        #expect(counts.accepted == 3)
        #expect(counts.refused == 11)
        #expect(counts.refusedByReason[.invalidJSON] == 7)
        #expect(stage.journal.position("odd") == "p")
    }

    @Test func `an offer without events moves the position`() throws {
        let stage = try SourceStage(#"{"mode":"empty"}"#, in: directory)
        #expect(pluginEventually { stage.counter("durable") == 2 })
        #expect(stage.journal.position("empty") == "p2")
        #expect(stage.journal.count == 0)
    }

    @Test func `an event that is too large for the journal is refused, and its position is stored`() throws {
        let journal = LaneJournal()
        journal.refuse(Refusal.tooLarge(maximum: 100))
        let stage = try SourceStage(#"{"events":10,"batch":5}"#, in: directory, journal: journal)
        #expect(pluginEventually { stage.counter("durable") == 2 && stage.hasLine("refused 4: too_large") })
        #expect(journal.position("lane-0") == "10")
        #expect(stage.statistics.snapshot().refusedByReason[.tooLarge] == 10)
    }

    @Test func `an offer that is no offer fails and says why`() throws {
        let stage = try SourceStage(#"{"mode":"wrong"}"#, in: directory)
        // The plugin counts an offer as taken once its call returns, which may be after the offer is stored.
        #expect(pluginEventually { stage.counter("durable") == 2 && stage.counter("taken") == 2 })
        #expect(stage.counter("failed") == 32)
        #expect(stage.source.status.state == .up)
        let lane = try #require(stage.source.status.lanes.last)
        #expect(lane.name == String(repeating: "é", count: 32))
        #expect(lane.position == String(repeating: "0", count: 128))
    }

    @Test(arguments: [("early", 2), ("late", 1)])
    func `offers before start and after stop fail`(mode: String, failures: UInt64) throws {
        let stage = try SourceStage(#"{"mode":"\#(mode)"}"#, in: directory)
        #expect(pluginEventually { stage.gauge("done") == 1 })
        stage.stop()
        #expect(stage.counter("failed") == failures)
        #expect(stage.hasLine("offer only after the host has called start"))
        #expect(stage.counter("destroys") == 1)
    }

    @Test func `a problem and the open partitions are shown`() throws {
        let stage = try SourceStage(#"{"mode":"problem"}"#, in: directory)
        // It reports the problem from a thread of its own, before or after its `start` returns.
        #expect(pluginEventually { stage.source.status.problem != nil && stage.source.status.state == .up })
        let status = stage.source.status
        #expect(status.problem == "nobody answers?at nats.example")
        #expect(status.openLanes == 1)
        #expect(status.lanes.map(\.name) == ["idle"] && status.lanes.first?.position == nil)
        // The line is written after the status has changed.
        #expect(pluginEventually { stage.hasLine("the plugin reports a problem: nobody answers") })
    }

    @Test func `a source may use what it needs as a source, not what it needs as a sink`() throws {
        try directory.addCounting("BOTH")
        let stage = try SourceStage(#"{"mode":"uses"}"#, in: directory)
        #expect(pluginEventually { stage.gauge("unix") != nil })
        #expect(stage.gauge("inet") == 0)
        #expect(stage.gauge("unix") == 0)
    }

    @Test func `a file that is replaced is noticed`() throws {
        let stage = try SourceStage(#"{"events":10}"#, in: directory)
        #expect(pluginEventually { stage.counter("durable") == 1 })
        #expect(!stage.source.running.isReplaced)
        try FileManager.default.removeItem(atPath: "\(directory.path)/libcounting.so")
        try directory.addCounting("BOTH")
        #expect(stage.source.running.isReplaced)
    }
}
