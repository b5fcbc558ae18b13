import Events
import Foundation
import Ingest
import Platform
import PluginSources
import PluginTesting
import Testing

/// Offers that wait: for the window, for the journal, for the stop.
@Suite struct FlowTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addCounting()
    }

    /// Waits until the number has not changed for a while.
    private func settled(_ number: () -> UInt64) -> UInt64 {
        var last = number()
        var since = SystemClock().now()
        let end = since + .seconds(20)
        while SystemClock().now() - since < .milliseconds(300), SystemClock().now() < end {
            usleep(2000)
            if number() != last {
                last = number()
                since = SystemClock().now()
            }
        }
        return last
    }

    @Test func `a plugin whose offers are not stored is answered BUSY at the window, and asked again`() throws {
        let journal = LaneJournal()
        journal.hold(true)
        let stage = try SourceStage(#"{"lanes":2,"events":2000,"batch":10}"#, in: directory, journal: journal) {
            $0.window = 50_000
        }
        #expect(pluginEventually { stage.counter("busy") == 1 })
        let taken = settled { stage.counter("taken") }
        // Each offer costs 256 bytes, 64 for each event, and about 80 bytes of JSON.
        #expect(taken > 20 && taken < 40, "\(taken)")
        #expect(stage.counter("durable") == 0)
        #expect(stage.counter("ready") == 0)
        journal.hold(false)
        #expect(pluginEventually { stage.counter("durable") == 400 })
        #expect(stage.counter("ready") >= 1)
        #expect(stage.hasAll(lanes: 2, events: 2000))
    }

    @Test func `an offer larger than the window passes alone`() throws {
        let stage = try SourceStage(#"{"mode":"large"}"#, in: directory)
        #expect(pluginEventually { stage.counter("durable") == 3 })
        #expect(stage.statistics.snapshot().refusedByReason[.tooLarge] == 3)
        #expect(stage.source.status.restarts == 0)
    }

    @Test func `an offer has at most as many bytes as fit the queue of the journal`() throws {
        #expect(PluginSourceOptions.offerBytes(journalQueue: 256 << 10) == 64 << 10)
        #expect(PluginSourceOptions.offerBytes(journalQueue: .max) == 256 << 10)
        #expect(PluginSourceOptions.offerBytes(journalQueue: 0) == 1)
        // 10 events of about 270 bytes.
        let stage = try SourceStage(#"{"events":100,"size":200}"#, in: directory) { $0.offerBytes = 2000 }
        #expect(pluginEventually { stage.counter("failed") == 1 })
        #expect(pluginEventually { stage.hasLine("more than max_offer_bytes") })
        let roomy = try SourceStage(#"{"events":100,"size":200}"#, in: directory) { $0.offerBytes = 4000 }
        #expect(pluginEventually { roomy.counter("durable") == 10 })
    }

    @Test func `an offer waits while the journal is busy`() throws {
        let journal = LaneJournal()
        journal.makeBusy(true)
        let start = SystemClock().now()
        let stage = try SourceStage(#"{"events":1000}"#, in: directory, journal: journal)
        #expect(pluginEventually { journal.attempts >= 1 })
        // It tries once a second, not in a loop.
        let attempts = settled { UInt64(journal.attempts) }
        let seconds = (SystemClock().now() - start).components.seconds
        #expect(attempts <= 3 + UInt64(seconds))
        journal.makeBusy(false)
        stage.source.journalHasRoom()
        #expect(pluginEventually { stage.counter("durable") == 100 })
        #expect(stage.hasAll(lanes: 1, events: 1000))
        #expect(stage.statistics.snapshot().refused == 0)
    }

    @Test func `an offer waits while the journal is full, and no event is refused for it`() throws {
        let journal = LaneJournal()
        journal.refuse(Refusal(reason: .journalFull, detail: "the journal is full"))
        let stage = try SourceStage(#"{"events":1000}"#, in: directory, journal: journal)
        #expect(pluginEventually { stage.source.status.waiting == "the journal is full" })
        #expect(pluginEventually { journal.attempts >= 3 })
        #expect(journal.attempts < 20)
        journal.refuse(nil)
        #expect(pluginEventually { stage.counter("durable") == 100 })
        #expect(stage.hasAll(lanes: 1, events: 1000))
        #expect(stage.statistics.snapshot().refused == 0)
        #expect(stage.source.status.waiting == nil)
        #expect(stage.hasLine("events wait for the journal, and none is lost: the journal is full"))
    }

    /// A full journal's queue takes some events; a small source has no others.
    @Test func `a source whose last offers are not stored counts as held, until they are`() throws {
        let journal = LaneJournal()
        journal.hold(true)
        let stage = try SourceStage(#"{"events":100}"#, in: directory, journal: journal)
        #expect(pluginEventually { stage.counter("taken") == 10 })
        #expect(pluginEventually { stage.source.status.waiting?.hasPrefix("the last events are not stored") == true })
        #expect(stage.source.status.state == .up && stage.counter("durable") == 0)
        journal.hold(false)
        #expect(pluginEventually { stage.counter("durable") == 10 && stage.source.status.waiting == nil })
        #expect(stage.hasAll(lanes: 1, events: 100))
    }

    @Test func `a stop while offers are in flight reports each that was appended, and loses none`() throws {
        let journal = LaneJournal()
        for _ in 1...5 {
            let before = journal.count
            let stage = try SourceStage(#"{"lanes":4,"events":1000000,"batch":3}"#, in: directory, journal: journal)
            #expect(pluginEventually { journal.count > before + 2000 })
            stage.stop()
            #expect(stage.counter("destroys") == 1, "\(stage.source.status) \(stage.lines)")
            #expect(stage.counter("out_of_order") == 0)
            // What is in the journal was reported, and nothing else.
            for lane in 0..<4 {
                let stored = journal.ids("lane-\(lane)")
                #expect(stored == (0..<stored.count).map { "\(lane)-\($0)" })
                #expect(journal.position("lane-\(lane)") == "\(stored.count)")
            }
        }
    }

    @Test func `a stop ends at its deadline although the journal stores nothing`() throws {
        let journal = LaneJournal()
        journal.hold(true)
        let stage = try SourceStage(#"{"events":100}"#, in: directory, journal: journal)
        #expect(pluginEventually { stage.counter("taken") == 10 })
        let start = SystemClock().now()
        stage.stop(within: .milliseconds(500))
        let time = SystemClock().now() - start
        #expect(time >= .milliseconds(400) && time < .seconds(30), "\(time)")
        #expect(stage.source.status.state == .stopped)
        #expect(stage.counter("durable") == 0)
    }

    @Test func `a process does not start before what was appended is durable`() throws {
        let journal = LaneJournal()
        journal.hold(true)
        let stage = try SourceStage(#"{"lanes":2,"events":3000,"batch":10}"#, in: directory, journal: journal) {
            $0.window = 50_000
        }
        #expect(pluginEventually { stage.counter("busy") >= 1 && journal.count > 0 })
        let process = try #require(journal.entries.last?.origin.pid)
        kill(process, SIGKILL)
        let reason = "the events before are not durable yet"
        #expect(pluginEventually { stage.source.status.waiting == reason && stage.source.status.state == .starting })
        journal.hold(false)
        #expect(pluginEventually { stage.gauge("done") == 1 && journal.count >= 6000 })
        #expect(stage.hasAll(lanes: 2, events: 3000))
    }
}
