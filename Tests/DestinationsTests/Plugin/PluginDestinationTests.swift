import Delivery
import Destinations
import Platform
import PluginHosting
import Synchronization
import PluginTesting
import Testing

/// A real library, in this process and in one of its own, that keeps or breaks the contract.
@Suite struct PluginDestinationTests {
    typealias Isolation = PluginDestinationOptions.Isolation

    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addMisbehaving()
    }

    private func open(
        _ mode: String, _ isolation: Isolation, deadline: Duration = .seconds(60),
        adjust: (inout PluginDestinationOptions) -> Void = { _ in }
    ) throws -> PluginStage {
        let stage = try PluginStage(
            in: directory, settings: #"{"mode":"\#(mode)"}"#, deadline: deadline, isolation: isolation,
            adjust: adjust)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    @Test(arguments: Isolation.allCases) func `a plugin that settles inside deliver delivers the batch`(
        isolation: Isolation
    ) throws {
        let stage = try open("plain", isolation)
        let batch = stage.offer([1, 2, 5])
        #expect(stage.outcomes(batch, count: 3) == [.delivered, .delivered, .delivered])
        #expect(stage.destination.metrics.counters["whole_payloads"] == 3)
        #expect(stage.destination.metrics.counters["broken_payloads"] == nil)
        stage.destination.close()
        #expect(stage.answers(batch).count == 1)
    }

    @Test(arguments: Isolation.allCases) func `a plugin's limits are known after open`(isolation: Isolation) throws {
        let stage = try open("plain", isolation)
        #expect(
            stage.destination.limits
                == DestinationLimits(maximumBatchEvents: 64, maximumBatchBytes: 1 << 20, maximumInFlight: 3))
    }

    @Test(arguments: Isolation.allCases) func `a batch may be settled from another thread`(isolation: Isolation) throws
    {
        let stage = try open("thread", isolation)
        let batch = stage.offer([7])
        #expect(pluginEventually { stage.answers(batch).count == 1 })
        #expect(stage.outcomes(batch, count: 1) == [.delivered])
    }

    @Test(arguments: Isolation.allCases) func `a batch may be settled long after deliver`(isolation: Isolation) throws {
        let stage = try open("keep", isolation)
        let first = stage.offer([1])
        let second = stage.offer([2])
        #expect(stage.answers(first).isEmpty)
        _ = try stage.destination.checkpoint()
        #expect(stage.outcomes(first, count: 1) == [.delivered])
        #expect(stage.outcomes(second, count: 1) == [.delivered])
        #expect(stage.destination.metrics.counters["whole_payloads"] == 2)
    }

    @Test(arguments: Isolation.allCases) func `each event has its own outcome, and an unknown outcome is a retry`(
        isolation: Isolation
    ) throws {
        let stage = try open("mixed", isolation)
        let outcomes = try #require(stage.outcomes(stage.offer([1, 2, 3, 4, 5]), count: 5))
        let unsettled = Outcome.retry(reason: "the plugin reported no outcome for the event")
        #expect(
            outcomes == [
                unsettled, .delivered, .retry(reason: "later", after: .milliseconds(1500)),
                .rejected(reason: "bad row"), unsettled,
            ])
    }

    @Test(arguments: Isolation.allCases) func `outcomes with a larger stride than the host's are read by that stride`(
        isolation: Isolation
    ) throws {
        let stage = try open("strided", isolation)
        #expect(stage.outcomes(stage.offer([1, 2, 3]), count: 3) == [.delivered, .delivered, .delivered])
    }

    @Test(arguments: Isolation.allCases) func `events beyond the reported outcomes are retried`(isolation: Isolation)
        throws
    {
        let stage = try open("half", isolation)
        #expect(
            stage.outcomes(stage.offer([1, 2]), count: 2) == [
                .delivered, .retry(reason: "the plugin reported no outcome for the event"),
            ])
    }

    @Test(arguments: Isolation.allCases) func `unreadable outcomes are retried and counted`(isolation: Isolation) throws
    {
        let stage = try open("no_outcomes", isolation)
        #expect(
            stage.outcomes(stage.offer([1]), count: 1) == [
                .retry(reason: "the plugin reported no outcome for the event")
            ])
        #expect(stage.count("plugin_outcomes_unreadable") == 1)
    }

    @Test(arguments: Isolation.allCases) func `a second settlement is ignored and counted`(isolation: Isolation) throws
    {
        let stage = try open("twice", isolation)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.count("plugin_settlement_repeated") == 1)
    }

    @Test(arguments: Isolation.allCases) func `unknown tokens are ignored and counted`(isolation: Isolation) throws {
        let stage = try open("unknown", isolation)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.count("plugin_settlement_unknown") == 2)
    }

    @Test func `a batch that misses its deadline is retried, and its late settlement is ignored`() throws {
        let stage = try open("keep", .none, deadline: .milliseconds(30))
        let batch = stage.offer([1, 2])
        #expect(pluginEventually { !stage.answers(batch).isEmpty })
        let reason = "the plugin did not settle the batch before its deadline"
        #expect(stage.outcomes(batch, count: 2) == [.retry(reason: reason), .retry(reason: reason)])
        #expect(stage.count("plugin_deadline_passed") == 1)

        // The plugin still reads the batch here, so the batch's memory must be valid.
        _ = try stage.destination.checkpoint()
        #expect(stage.answers(batch).count == 1)
        #expect(stage.count("plugin_settlement_late") == 1)
        #expect(stage.destination.metrics.counters["whole_payloads"] == 2)
        #expect(stage.destination.metrics.counters["broken_payloads"] == nil)
    }

    @Test func `a plugin with too many overdue batches is held until it settles them`() throws {
        let stage = try open("keep", .none, deadline: .milliseconds(5))
        for position in 0..<8 { stage.offer([UInt64(position)]) }
        #expect(pluginEventually { stage.count("plugin_deadline_passed") == 8 })
        let refused = stage.offer([100])
        guard case .all(.hold)? = stage.answers(refused).first else {
            Issue.record("not held: \(stage.answers(refused))")
            return
        }
        _ = try stage.destination.checkpoint()
        let taken = stage.offer([101])
        #expect(stage.answers(taken).isEmpty || stage.count("plugin_deadline_passed") == 9)
    }

    @Test(arguments: Isolation.allCases) func `a batch that a plugin never settled is retried at close`(
        isolation: Isolation
    ) throws {
        let stage = try open("keep", isolation)
        let batch = stage.offer([1])
        #expect(stage.answers(batch).isEmpty)
        stage.destination.close()
        #expect(stage.answers(batch).count == 1)
        guard case .all(.retry)? = stage.answers(batch).first else {
            Issue.record("not retried: \(stage.answers(batch))")
            return
        }
    }

    @Test(arguments: Isolation.allCases) func `a closed destination can be opened again`(isolation: Isolation) throws {
        let stage = try open("keep", isolation)
        let before = stage.offer([1])
        stage.destination.close()
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        let after = stage.offer([1])
        _ = try stage.destination.checkpoint()
        #expect(stage.outcomes(after, count: 1) == [.delivered])
        #expect(stage.answers(before).count == 1)
    }

    @Test(arguments: Isolation.allCases) func `a busy plugin gets the batch again once it is ready`(
        isolation: Isolation
    ) throws {
        // Without `ready` this would take an hour.
        let stage = try open("busy_then_ready", isolation) {
            $0.busyPause = .seconds(3600)
            $0.busyPatience = .seconds(7200)
        }
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.destination.metrics.counters["offers"] == 2)
    }

    @Test(arguments: Isolation.allCases) func `a batch is retried when the plugin stays busy`(isolation: Isolation)
        throws
    {
        let stage = try open("busy", isolation) {
            $0.busyPause = .milliseconds(1)
            $0.busyPatience = .milliseconds(20)
        }
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.retry(reason: "the plugin is busy")])
        #expect(try #require(stage.destination.metrics.counters["offers"]) >= 2)
    }

    @Test(arguments: Isolation.allCases) func `a failed plugin reconnects before the next batch`(isolation: Isolation)
        throws
    {
        let stage = try open("fails_once", isolation)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.retry(reason: "the connection is gone")])
        #expect(stage.destination.metrics.counters["connects"] == 1)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.destination.metrics.counters["connects"] == 2)
        #expect(stage.count("plugin_failed") == 1)
    }

    @Test(arguments: Isolation.allCases) func `an unknown result code counts as failed`(isolation: Isolation) throws {
        let stage = try open("nonsense", isolation)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.retry(reason: "the plugin gave no reason")])
    }

    @Test(arguments: Isolation.allCases) func `a settled batch stays settled when deliver fails`(isolation: Isolation)
        throws
    {
        let stage = try open("settles_and_fails", isolation)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
    }

    @Test(arguments: Isolation.allCases) func `a failed open reports the plugin's own words and can be retried`(
        isolation: Isolation
    ) throws {
        let stage = try PluginStage(
            in: directory, settings: #"{"mode":"connect_fails_once"}"#, isolation: isolation)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description == "the plugin misbehaving cannot connect: nobody answers at db.example")
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
    }

    @Test(
        arguments: [("create_fails", "the moon is in the wrong phase"), ("no_deliver", "leaves out deliver")],
        Isolation.allCases)
    func `a failed create is an error`(fault: (mode: String, words: String), isolation: Isolation) throws {
        let (mode, words) = fault
        let stage = try PluginStage(in: directory, settings: #"{"mode":"\#(mode)"}"#, isolation: isolation)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true)
        stage.destination.close()
    }

    @Test(arguments: Isolation.allCases) func `a failed flush fails the checkpoint`(isolation: Isolation) throws {
        let stage = try open("flush_fails", isolation)
        let error = #expect(throws: PluginError.self) { try stage.destination.checkpoint() }
        #expect(error?.description == "the plugin misbehaving cannot flush: no space left")
    }

    @Test(arguments: Isolation.allCases) func `a plugin's log message is one clean line, and its metrics are bounded`(
        isolation: Isolation
    ) throws {
        let stage = try open("talks", isolation)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        let lines = stage.log.lines.withLock { $0 }
        #expect(lines.contains("warning: warehouse: slow commit rows=3 table=events"))
        #expect(!lines.contains { $0.contains("not worth a line") })
        let metrics = stage.destination.metrics
        #expect(metrics.gauges["no_debug"] == 1)
        #expect(metrics.counters["Bad Name"] == nil)
        #expect(metrics.counters.count == 64)
        #expect(stage.count("plugin_metric_refused") > 0)
    }

    @Test func `one plugin can serve several destinations`() throws {
        let one = try open("keep", .none)
        let other = try open("plain", .none)
        let kept = one.offer([1])
        #expect(other.outcomes(other.offer([1]), count: 1) == [.delivered])
        #expect(one.answers(kept).isEmpty)
        other.destination.close()
        _ = try one.destination.checkpoint()
        #expect(one.outcomes(kept, count: 1) == [.delivered])
    }
}
