import CNats
import Foundation
import PluginTesting
import Testing

/// The nats source while servers fail, and settings or streams that it cannot use.
@Suite struct NATSSourceFailureTests {
    private func events(_ numbers: Range<Int>) -> [String] { NATSSourceTest.events(numbers) }

    @Test func `a server that is down at the start is a problem, and the source goes on by itself`() throws {
        let servers = try NATSServers(starts: false)
        let settings =
            #"{"servers":\#(servers.urls),"stream":"S","consumer":"penstock","connect_timeout":"500ms"}"#
        let journal = LaneJournal()
        let plugin = unsafe try SourceStage.load(try TestCompiler.built("libpenstock-nats.so"))
        let stage = try unsafe SourceStage(plugin, settings: settings, journal: journal)
        try stage.connect()
        try stage.start()
        #expect(stage.problem == "nats://127.0.0.1:\(servers.ports[0]): No server available for connection")
        try servers.start(0)
        let test = try NATSSourceTest(servers)
        try test.client.publish(0..<10)
        test.waitFor(10, stage, in: journal)
        #expect(pluginEventually { stage.problem == nil })
    }

    @Test func `a server that is killed and started again in mid-stream loses and repeats nothing`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<6000)
        let stage = try test.open(#","batch":100"#) { $0.maxOfferEvents = 20 }
        for round in 1...3 {
            test.waitFor(round * 1000, stage)
            test.servers.end(0)
            #expect(pluginEventually { stage.problem?.contains("the connection was lost") == true })
            try test.servers.start(0)
        }
        test.waitFor(6000, stage)
        #expect(test.journal.texts == events(0..<6000))
        test.waitForFloor(6000)
        #expect(pluginEventually { stage.problem == nil })
        #expect(stage.failure == nil && stage.counters["nats_lost"] == nil)
    }

    @Test func `a server that hangs is a lost connection, and nothing is lost or repeated`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<100)
        let stage = try test.open()
        test.waitFor(100, stage)
        try test.servers.suspend(0)
        #expect(pluginEventually { stage.problem != nil })
        test.servers.resume(0)
        try test.client.publish(100..<200)
        test.waitFor(200, stage)
        #expect(test.journal.texts == events(0..<200))
    }

    @Test func `a cluster whose leader is killed loses and repeats nothing`() throws {
        let servers = try NATSServers(3)
        let test = try NATSSourceTest(servers, subject: nil)
        try test.client.create("S", "e", replicas: 3)
        try test.client.publish(0..<4000)
        let stage = try test.open(#","batch":100"#) { $0.maxOfferEvents = 20 }
        test.waitFor(1000, stage)
        let leader = try test.client.leader("S")
        servers.end(leader)
        let end = Date() + 60
        while test.journal.count < 4000, Date() < end { usleep(10_000) }
        #expect(test.journal.texts == events(0..<4000), "\(stage.problem ?? ""); \(stage.log.suffix(5))")
        #expect(stage.failure == nil)
    }

    /// As a cluster can leave a consumer after several of its servers have failed.
    @Test func `a consumer that the servers have lost is created again`() throws {
        let servers = try NATSServers(3)
        let test = try NATSSourceTest(servers, subject: nil)
        try test.client.create("S", "e", replicas: 3)
        try test.client.publish(0..<100)
        servers.end(try test.client.createLonelyConsumer("S", NATSSourceTest.consumer))
        let stage = try test.open()
        #expect(pluginEventually(within: .seconds(120)) { test.journal.count == 100 }, "\(stage.log.suffix(5))")
        #expect(test.journal.texts == events(0..<100))
        #expect(stage.log.contains { $0.contains("the servers have lost the consumer") }, "\(stage.log.suffix(5))")
        #expect(pluginEventually { stage.problem == nil })
    }

    @Test func `stop with offers that are not durable yet, and while the host is busy`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<1000)
        let stage = try test.open(isHeld: true) {
            $0.maxOfferEvents = 10
            $0.window = 500
        }
        #expect(pluginEventually { stage.busyCount > 0 })
        stage.callStop()
        stage.release()
        // The lease is released when everything is stored and acknowledged.
        #expect(pluginEventually(within: .seconds(60)) { test.client.value("penstock_leases", "S.penstock") == "" })
        let count = test.journal.count
        #expect(count > 0 && test.journal.texts == events(0..<count))
        #expect(test.client.consumer("S", "penstock")?.floor == UInt64(count))
        #expect(stage.violations.isEmpty)
    }

    @Test func `a stream that is missing is an error that says what to do, at the start and later`() throws {
        let test = try NATSSourceTest(subject: nil)
        let stage = try test.stage(#","wait":"1s""#)
        let text = "the stream S does not exist: create it, or change settings.stream"
        #expect(throws: TestProblem(description: text)) { try stage.connect() }
        try test.client.create("S", "e")
        try stage.connect()
        try stage.start()
        #expect(pluginEventually { stage.openLanes == ["S"] })
        test.client.deleteStream("S")
        #expect(pluginEventually { stage.problem == "S: \(text)" })
        try test.client.create("S", "e")
        try test.client.publish(0..<10)
        test.waitFor(10, stage)
        #expect(pluginEventually { stage.problem == nil })
    }

    @Test func `a stream with interest retention is refused`() throws {
        let test = try NATSSourceTest(subject: nil)
        try test.client.create("S", subjects: ["e"], retention: js_InterestPolicy)
        let error = #expect(throws: TestProblem.self) { try test.open() }
        #expect(error?.description.hasPrefix(#"the stream S has retention "interest": "#) == true)
    }

    @Test func `a consumer of another kind is not touched`() throws {
        let test = try NATSSourceTest()
        test.client.addConsumer("S", "penstock", pushTo: "elsewhere")
        let stage = try test.open()
        #expect(
            pluginEventually {
                stage.problem
                    == "S: the consumer penstock of the stream S is not a pull consumer with explicit acknowledgement "
                    + "and without a filter: delete it, or change settings.consumer"
            }, "\(stage.problem ?? "")")
        test.client.deleteConsumer("S", "penstock")
        // A consumer with other limits is one that the source may replace.
        test.client.addConsumer("S", "penstock")
        try test.client.publish(0..<10)
        test.waitFor(10, stage)
        // It is deleted while it is read.
        test.client.deleteConsumer("S", "penstock")
        try test.client.publish(10..<20)
        test.waitFor(20, stage)
        #expect(test.journal.texts == events(0..<20))
    }

    @Test(arguments: [
        ("", "settings.servers: is missing"),
        (#""servers":[],"stream":"S","consumer":"c""#, "settings.servers: must name 1 to 100 servers"),
        (#""servers":["nats://x"],"stream":"a.b","consumer":"c""#, #"settings.stream: "a.b" is not a name"#),
        (#""servers":["nats://x"],"stream":"S","consumer":"a b""#, #"settings.consumer: "a b" is not a name"#),
        (#""servers":["nats://x"],"stream":"S","consumer":"c","leases":"a.b""#, #"settings.leases: "a.b""#),
        (#""servers":["nats://x"],"stream":"S","consumer":"c","subjects":[]"#, "settings.subjects: must have 1 to 64"),
        (#""servers":["nats://x"],"stream":"S","consumer":"c","subjects":["a..b"]"#, #""a..b" is not a subject"#),
        (#""servers":["nats://x"],"stream":"S","consumer":"c","subjects":["a.>.b"]"#, #""a.>.b" is not a subject"#),
        (#""servers":["nats://x"],"stream":"S","consumer":"c","subjects":["a*"]"#, #""a*" is not a subject"#),
        (
            #""servers":["nats://x"],"stream":"S","consumer":"c","subjects":["a.*.c","a.b.>"]"#,
            #""a.*.c" and "a.b.>" share subjects"#
        ),
        (#""servers":["nats://x"],"stream":"S","consumer":"c","wait":"0s""#, "settings.wait: is 0s"),
        (#""servers":["nats://x"],"stream":"S","consumer":"c","batch":"x""#, "settings.batch: "),
    ])
    func `an error of the settings names the setting`(settings: String, problem: String) throws {
        let plugin = unsafe try SourceStage.load(try TestCompiler.built("libpenstock-nats.so"))
        let error = #expect(throws: TestProblem.self) {
            try unsafe SourceStage(plugin, settings: "{\(settings)}", journal: LaneJournal())
        }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }
}
