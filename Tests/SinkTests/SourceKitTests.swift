import CPenstockPlugin
import Foundation
import PenstockPluginKit
import PluginTesting
import Testing

/// A source of PenstockPluginKit with a host's part around it, in this process.
@Suite struct SourceKitTests {
    private let journal = LaneJournal()

    private func stage(
        _ settings: String, _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        guard let table = unsafe entry(source: CountingSource.self, of: CountingSource.plugin, 1) else {
            throw TestProblem(description: "no table")
        }
        return unsafe try SourceStage(table, settings: settings, journal: journal, configure)
    }

    private func start(
        _ settings: String, _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        let stage = try self.stage(settings, configure)
        try stage.connect()
        try stage.start()
        return stage
    }

    private func numbers(_ lane: String, _ count: Int) -> [String] {
        (0..<count).filter { $0 % 300 != 50 }.map { "{\"\(lane)\":\($0)}" }
    }

    /// Its thread must not refer to a stage that ends: the runtime ends the whole process then.
    @Test func `a stage that nobody closes can end at any time`() throws {
        for _ in 0..<2000 { _ = try start(#"{"lanes":["a"],"count":1}"#) }
    }

    @Test func `the table of a source alone has no sink`() throws {
        guard let table = unsafe entry(source: CountingSource.self, of: CountingSource.plugin, 1) else {
            throw TestProblem(description: "no table")
        }
        #expect(unsafe table.pointee.create == nil && table.pointee.abi_minor == 2)
        #expect(unsafe table.pointee.extension("penstock.position/1") == nil)
        let found = try unsafe #require(table.pointee.extension(PENSTOCK_SOURCE))
        let source = unsafe found.load(as: penstock_source.self)
        #expect(unsafe String(cString: source.settings_schema) == #"{"type": "object"}"#)
        #expect(unsafe entry(source: CountingSource.self, of: CountingSource.plugin, 2) == nil)
    }

    @Test func `events of several lanes become durable in order, and refused ones are reported by index`() throws {
        let stage = try start(#"{"lanes":["a","b","π"],"count":1000}"#)
        // The last acknowledgement is counted after the lane knows of it.
        #expect(pluginEventually { stage.counters["complete"] == 3 && stage.counters["acknowledged"] == 300 })
        for lane in ["a", "b", "π"] {
            #expect(journal.now.texts(lane) == numbers(lane, 1000))
            #expect(journal.position(lane) == "1000")
        }
        #expect(stage.log.filter { $0 == "not a JSON object index=0" }.count == 12)
        stage.close()
        #expect(stage.openLanes.isEmpty && stage.failure == nil && stage.violations.isEmpty)
    }

    @Test func `an instance that is killed and started again continues at the journal's positions`() throws {
        let all = numbers("a", 3000).count + numbers("b", 3000).count
        for _ in 0..<8 {
            let stage = try start(#"{"lanes":["a","b"],"count":3000,"perOffer":7}"#) { $0.window = 1000 }
            let count = journal.count
            // On a busy machine, all events may have come before this thread looks again.
            #expect(pluginEventually { journal.count >= min(count + 200, all) })
            stage.crash()
            #expect(stage.violations.isEmpty)
        }
        let stage = try start(#"{"lanes":["a","b"],"count":3000,"perOffer":7}"#)
        #expect(pluginEventually { stage.counters["complete"] == 2 })
        #expect(journal.now.texts("a") == numbers("a", 3000))
        #expect(journal.now.texts("b") == numbers("b", 3000))
        #expect(stage.failure == nil)
    }

    @Test func `a busy host is offered the same events again after ready`() throws {
        let stage = try start(#"{"lanes":["a","b"],"count":2000}"#) { $0.window = 500 }
        #expect(pluginEventually { stage.counters["complete"] == 2 })
        #expect(stage.busyCount > 0)
        #expect(journal.now.texts("a") == numbers("a", 2000))
        #expect(journal.now.texts("b") == numbers("b", 2000))
    }

    @Test func `stop ends an offer that waits, and earlier offers become durable`() throws {
        let stage = try self.stage(#"{"lanes":["a"],"count":2000}"#) { $0.window = 500 }
        stage.hold()
        try stage.connect()
        try stage.start()
        #expect(pluginEventually { stage.busyCount > 0 })
        stage.callStop()
        let offers = stage.offerCount
        #expect(stage.gauges["pending_at_stop"] == Double(offers))
        stage.release()
        #expect(pluginEventually { stage.counters["acknowledged"] == UInt64(offers) })
        #expect(stage.offerCount == offers && journal.position("a") == String(offers * 10))
    }

    @Test func `a position of 64 bytes is taken, and a longer one is an error that ends the lane`() throws {
        let longest = String(repeating: "9", count: 64)
        let stage = try start(#"{"lanes":["a"],"count":10,"position":"\#(longest)"}"#)
        #expect(pluginEventually { stage.counters["complete"] == 1 })
        #expect(journal.position("a") == longest && stage.failure == nil)
        let failing = try self.start(#"{"lanes":["b"],"count":10,"position":"\#(longest)9"}"#)
        #expect(pluginEventually { failing.failure == "the lane b is not valid" })
    }

    @Test func `errors of the settings and of connect are passed on`() throws {
        for (settings, problem) in [
            ("{}", "settings.lanes: is missing"),
            (#"{"lanes":[],"count":-1}"#, "settings.count: must be 0 or more"),
        ] {
            let error = #expect(throws: TestProblem.self) { try self.stage(settings) }
            #expect(error?.description == problem)
        }
        let stage = try self.stage(#"{"lanes":[],"count":0,"connects":false}"#)
        let error = #expect(throws: TestProblem.self) { try stage.connect() }
        #expect(error?.description == "the broker does not answer")
    }

    @Test func `a buffer of events counts empty ones`() {
        var events = EventBuffer(["", "{}", ""])
        #expect(events.count == 3 && events.byteCount == 2)
        events.removeAll()
        #expect(events.isEmpty && events.byteCount == 0)
    }
}
