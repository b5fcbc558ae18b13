import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// A sink with an async `deliver`, as PenstockPluginKit runs it. The plugin is Tests/Support/AsyncSinkPlugin.
@Suite struct AsyncSinkTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libasyncsink.so")
    }

    private func open(_ settings: String = #"{"milliseconds":5}"#) throws -> PluginStage {
        let stage = try PluginStage("asyncsink", in: directory, settings: settings)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    /// Events with these positions, each with a word for the plugin, or none.
    private func batch(_ events: KeyValuePairs<UInt64, String?>) -> OutboundBatch {
        PluginStage.batch(
            events.map { position, word in
                (position, .track, word.map { #"{"type":"track","do":"\#($0)"}"# } ?? PluginStage.event(position))
            })
    }

    private func outcomes(_ stage: PluginStage, _ offer: Int, count: Int) -> [Outcome]? {
        #expect(pluginEventually { !stage.answers(offer).isEmpty })
        return stage.outcomes(offer, count: count)
    }

    @Test func `each event gets the outcome that deliver returned`() throws {
        let stage = try open()
        let offer = stage.offer(batch([1: nil, 2: "reject", 3: "retry", 4: nil]))
        #expect(
            outcomes(stage, offer, count: 4) == [
                .delivered, .rejected(reason: "event 2 is refused"), .retry(reason: "not now", after: .seconds(2)),
                .delivered,
            ])
        #expect(pluginEventually { stage.destination.metrics.counters["delivered"] == 2 })
    }

    @Test func `an event without an outcome is offered again`() throws {
        let stage = try open()
        let settled = try #require(outcomes(stage, stage.offer(batch([1: nil, 2: "forget", 3: nil])), count: 3))
        #expect(settled[0] == .delivered)
        for outcome in settled[1...] {
            guard case .retry = outcome else {
                Issue.record("\(outcome)")
                continue
            }
        }
    }

    @Test func `a thrown error is the reason of a retry, and the next batch is delivered`() throws {
        let stage = try open()
        let failed = stage.offer(batch([1: nil, 2: "throw"]))
        let retry = Outcome.retry(reason: "the store is closed")
        #expect(outcomes(stage, failed, count: 2) == [retry, retry])
        #expect(outcomes(stage, stage.offer([3]), count: 1) == [.delivered])
    }

    @Test func `SinkBusy in an async deliver is a retry that says so`() throws {
        let stage = try open()
        let offer = stage.offer(batch([1: "busy"]))
        #expect(outcomes(stage, offer, count: 1) == [.retry(reason: "the sink is busy")])
        #expect(outcomes(stage, stage.offer([1]), count: 1) == [.delivered])
    }

    @Test func `batches are in flight at once, up to the limit`() throws {
        let stage = try open(#"{"milliseconds":300,"inFlight":6,"together":true}"#)
        #expect(stage.destination.limits.maximumInFlight == 6)
        let offers = (0..<6).map { number in stage.offer((0..<50).map { UInt64(number * 50 + $0) }) }
        // `deliver` has returned long before the batches are settled.
        #expect(pluginEventually { stage.destination.metrics.gauges["most_in_flight"] == 6 })
        for offer in offers {
            #expect(outcomes(stage, offer, count: 50)?.allSatisfy { $0 == .delivered } == true)
        }
        #expect(pluginEventually { stage.destination.metrics.counters["delivered"] == 300 })
    }

    @Test func `many batches one after the other are settled once each`() throws {
        let stage = try open(#"{"milliseconds":0,"inFlight":8}"#)
        let offers = (0..<200).map { number in
            let offer = stage.offer([UInt64(number)])
            if number >= 7 { #expect(pluginEventually { !stage.answers(number - 7).isEmpty }) }
            return offer
        }
        for offer in offers { #expect(outcomes(stage, offer, count: 1) == [.delivered]) }
        #expect(stage.count("plugin_settlement_repeated") + stage.count("plugin_settlement_unknown") == 0)
    }

    @Test func `stop cancels the batches in flight and returns promptly`() throws {
        let stage = try open(#"{"milliseconds":0,"inFlight":4}"#)
        let offers = (0..<4).map { stage.offer(batch([UInt64($0): "hang"])) }
        #expect(pluginEventually { stage.destination.metrics.gauges["most_in_flight"] == 4 })
        let start = ContinuousClock.now
        stage.destination.close()
        #expect(ContinuousClock.now - start < .seconds(10))
        // No task ran any more when the sink's own stop was called.
        #expect(stage.destination.metrics.gauges["running_at_stop"] == 0)
        let answers = offers.map { stage.answers($0) }
        for answer in answers {
            #expect(answer.count == 1)
            #expect(answer.first?.isDelivered == false)
        }
    }

    @Test func `stop waits for a task that ignores its cancellation, and no settlement follows`() throws {
        let stage = try open(#"{"milliseconds":400,"inFlight":2,"together":true}"#)
        let offers = (0..<2).map { stage.offer(batch([UInt64($0): "linger"])) }
        #expect(pluginEventually { stage.destination.metrics.gauges["most_in_flight"] == 2 })
        stage.destination.close()
        #expect(stage.destination.metrics.gauges["running_at_stop"] == 0)
        let answers = offers.map { stage.answers($0).count }
        #expect(answers == [1, 1])
        usleep(600_000)
        #expect(offers.map { stage.answers($0).count } == answers)
        #expect(stage.count("plugin_settlement_late") + stage.count("plugin_settlement_unknown") == 0)
    }

    @Test(arguments: [
        ("{}", "settings.milliseconds: is missing"),
        (#"{"milliseconds":null}"#, "settings.milliseconds: is null"),
        (#"{"milliseconds":"soon"}"#, "settings.milliseconds: "),
        (#"{"milliseconds":1,"list":[1,"x"]}"#, "settings.list."),
        (#"{"milliseconds":-1}"#, "settings.milliseconds: must be 0 or more"),
    ])
    func `an error of the settings names the setting`(settings: String, problem: String) throws {
        let error = #expect(throws: PluginError.self) {
            try PluginStage("asyncsink", in: directory, settings: settings).destination.open(from: Cursor(position: 0))
        }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test func `it keeps the contract`() throws {
        let run = PluginConformance(
            of: "\(directory.path)/libasyncsink.so", settings: #"{"milliseconds":20,"inFlight":5}"#,
            deadline: .seconds(30), program: try TestCompiler.built("penstock-plugin-host"))
        _ = run.run { check, verdict in
            if case .failed(let reason) = verdict { Issue.record("\(check): \(reason)") }
        }
    }
}

extension DeliveryClaim.Settlement {
    fileprivate var isDelivered: Bool {
        switch self {
        case .all(let outcome): outcome == .delivered
        case .each(let outcomes): outcomes.contains(.delivered)
        }
    }
}
