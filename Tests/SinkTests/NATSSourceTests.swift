import CNats
import Foundation
import PluginTesting
import Testing

/// The nats plugin as a source, against real servers.
@Suite struct NATSSourceTests {
    private func events(_ numbers: Range<Int>) -> [String] { NATSSourceTest.events(numbers) }

    @Test func `messages come once and in order, and are acknowledged when they are durable`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<2000)
        let stage = try test.open(isHeld: true)
        #expect(pluginEventually { stage.offerCount > 0 })
        #expect(test.client.consumer("S", "penstock")?.floor == 0)
        stage.release()
        test.waitFor(2000, stage)
        test.waitForFloor(2000)
        try test.client.publish(2000..<2500)
        test.waitFor(2500, stage)
        #expect(test.journal.texts == events(0..<2500))
        #expect(test.journal.now.lanes.count == 1 && test.journal.position("S") == "2500")
        #expect(stage.openLanes == ["S"] && stage.problems.isEmpty)
        stage.close()
        #expect(stage.openLanes.isEmpty && stage.violations.isEmpty)
        #expect(test.client.consumer("S", "penstock")?.floor == 2500)
    }

    @Test func `a source that is killed again and again continues at the journal's position`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<10_000)
        for round in 1...8 {
            let stage = try test.open(#","batch":200"#) { $0.maxOfferEvents = 70 }
            test.waitFor(round * 1000, stage)
            stage.crash()
        }
        let stage = try test.open()
        test.waitFor(10_000, stage)
        #expect(test.journal.texts == events(0..<10_000))
        test.waitForFloor(10_000)
        #expect(stage.counters["nats_lost"] == nil)
    }

    @Test func `messages that were delivered and not stored come again, without gaps`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<500)
        let held = try test.open(isHeld: true)
        #expect(pluginEventually { test.client.consumer("S", "penstock")?.pending == 500 })
        held.crash()
        let stage = try test.open()
        test.waitFor(500, stage)
        #expect(test.journal.texts == events(0..<500))
        // Another program takes messages, and acknowledges some.
        stage.close()
        try test.client.publish(500..<600)
        #expect(test.client.steal("S", "penstock", 20, acknowledging: [3, 7]) == 20)
        let second = try test.open()
        test.waitFor(600, second)
        #expect(test.journal.texts == events(0..<600))
        test.waitForFloor(600)
    }

    @Test func `deliveries that another program takes away are noticed and come again`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<10)
        let stage = try test.open(#","batch":5,"wait":"1s""#)
        test.waitFor(10, stage)
        for number in 0..<20 {
            try test.client.publish(10 + number * 50..<60 + number * 50)
            _ = test.client.steal("S", "penstock", 1)
        }
        test.waitFor(1010, stage)
        #expect(test.journal.texts == events(0..<1010))
        #expect(stage.failure == nil)
    }

    @Test func `a message that is delivered again is not stored again`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<20)
        let stage = try test.open(isHeld: true)
        #expect(pluginEventually { stage.offerCount > 0 && test.client.consumer("S", "penstock")?.pending == 20 })
        for sequence in [UInt64(3), 7, 8] { test.client.refuse("S", "penstock", sequence, delivery: sequence) }
        #expect(pluginEventually { stage.counters["nats_redelivered"] == 3 })
        stage.release()
        test.waitForFloor(20)
        try test.client.publish(20..<30)
        test.waitFor(30, stage)
        #expect(test.journal.texts == events(0..<30))
    }

    @Test func `each subject is a lane with a consumer of its own`() throws {
        let test = try NATSSourceTest(subject: "e.>")
        try test.client.publish(0..<3000, to: { "e.\($0 % 3).x" })
        let stage = try test.open(#","subjects":["e.0.*","e.1.>","e.2.x"]"#)
        test.waitFor(3000, stage)
        for (lane, rest) in [("S/e.0.*", 0), ("S/e.1.>", 1), ("S/e.2.x", 2)] {
            #expect(test.journal.now.texts(lane) == events(0..<3000).enumerated().filter { $0.0 % 3 == rest }.map(\.1))
            #expect(test.journal.position(lane) == String(2998 + rest))
        }
        #expect(stage.openLanes.count == 3)
        // A message of another subject is nobody's.
        try test.client.publish(0..<1, to: { _ in "e.other" })
        try test.client.publish(3000..<3001, to: { _ in "e.1.y.z" })
        test.waitFor(3001, stage)
    }

    @Test func `a lane with a long subject has a short and stable name`() throws {
        let test = try NATSSourceTest(subject: "e.>")
        let subject = "e." + String(repeating: "ä", count: 100)
        try test.client.publish(0..<10, to: { _ in subject })
        for count in [10, 20] {
            let stage = try test.open(#","subjects":["\#(subject)"]"#)
            test.waitFor(count, stage)
            stage.close()
            try test.client.publish(count..<count + 10, to: { _ in subject })
        }
        let lane = try #require(test.journal.now.lanes.keys.first)
        #expect(test.journal.now.lanes.count == 1 && lane.hasPrefix("S/e.ää") && lane.utf8.count <= 64)
        #expect(test.journal.texts == events(0..<20))
    }

    @Test func `messages that are no events are refused and acknowledged`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(
            0..<300, with: { $0 % 3 == 0 ? #"{"n":\#($0)}"# : $0 % 3 == 1 ? "" : "not JSON \($0)" })
        let stage = try test.open()
        test.waitFor(100, stage)
        test.waitForFloor(300)
        #expect(test.journal.position("S") == "300" && test.journal.now.refusals.count == 200)
    }

    @Test func `offers keep to the host's limits, and a message that is larger than them goes alone`() throws {
        let test = try NATSSourceTest()
        let large = String(repeating: "x", count: 20_000)
        try test.client.publish(0..<50, with: { $0 == 25 ? #"{"n":"\#(large)"}"# : #"{"n":\#($0)}"# })
        let stage = try test.open(isHeld: true) {
            $0.maxOfferBytes = 100
            $0.window = 300
        }
        #expect(pluginEventually { stage.busyCount > 0 })
        stage.release()
        test.waitFor(50, stage)
        #expect(stage.failure == nil)
        #expect(test.journal.texts.map(\.utf8.count).max() == 20_008)
        test.waitForFloor(50)
    }

    @Test func `a work queue is read once, and what is stored is acknowledged and dropped`() throws {
        let test = try NATSSourceTest(subject: nil)
        try test.client.create("S", subjects: ["e"], retention: js_WorkQueuePolicy)
        try test.client.publish(0..<3000)
        for round in 1...3 {
            let stage = try test.open(#","batch":100"#) { $0.maxOfferEvents = 50 }
            test.waitFor(round * 500, stage)
            stage.crash()
        }
        let stage = try test.open()
        test.waitFor(3000, stage)
        #expect(test.journal.texts == events(0..<3000))
        #expect(pluginEventually { (try? test.client.count("S")) == 0 })
    }

    @Test func `the consumer's floor is ahead of the journal, so other hosts have taken the messages`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<100)
        let other = LaneJournal()
        let first = try test.open(journal: other)
        test.waitFor(100, first, in: other)
        first.close()
        try test.client.publish(100..<150)
        let stage = try test.open()
        test.waitFor(50, stage)
        #expect(test.journal.texts == events(100..<150))
    }

    /// As when another host created it behind what it had stored, and stopped before the first message.
    @Test(arguments: [0, 20])
    func `a consumer that nothing was acknowledged to tells by its start what others have taken`(
        delivered: Int32
    ) throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<100)
        test.client.addConsumer("S", NATSSourceTest.consumer, start: 61)
        _ = test.client.steal("S", NATSSourceTest.consumer, delivered)
        let stage = try test.open()
        test.waitFor(40, stage)
        #expect(test.journal.texts == events(60..<100))
    }

    @Test func `messages that the stream removed before they were read are counted`() throws {
        let test = try NATSSourceTest(subject: nil)
        try test.client.create("S", subjects: ["e"], retention: js_LimitsPolicy, maximum: 100)
        try test.client.publish(0..<50)
        let first = try test.open()
        test.waitFor(50, first)
        first.close()
        try test.client.publish(50..<170)
        let second = try test.open()
        test.waitFor(150, second)
        #expect(test.journal.texts == events(0..<50) + events(70..<170))
        #expect(second.counters["nats_lost"] == 20)
        #expect(second.log.contains { $0.contains("removed messages") && $0.contains("lost=20") })
    }

    @Test func `a stream that was created again is read from its beginning`() throws {
        let test = try NATSSourceTest()
        try test.client.publish(0..<100)
        let first = try test.open()
        test.waitFor(100, first)
        first.close()
        test.client.deleteStream("S")
        try test.client.create("S", "e")
        try test.client.publish(200..<210)
        let second = try test.open()
        test.waitFor(110, second)
        #expect(test.journal.texts == events(0..<100) + events(200..<210))
        #expect(second.counters["nats_stream_resets"] == 1 && test.journal.position("S") == "10")
    }

    @Test func `the largest position is one of another stream`() throws {
        var test = try NATSSourceTest()
        test.journal = LaneJournal(["S": String(UInt64.max)])
        try test.client.publish(0..<10)
        let stage = try test.open()
        test.waitFor(10, stage)
        #expect(stage.counters["nats_stream_resets"] == 1)
        test.journal = LaneJournal(["S": "-1"])
        let error = #expect(throws: TestProblem.self) { try test.open() }
        #expect(error?.description.hasPrefix(#"the stored position "-1" of S is not a sequence: "#) == true)
    }

    @Test func `100,000 messages`() throws {
        let test = try NATSSourceTest()
        let padding = String(repeating: "x", count: 400)
        let count = 100_000
        try test.client.publish(0..<count, with: { #"{"n":\#($0),"p":"\#(padding)"}"# })
        let start = ContinuousClock.now
        let stage = try test.open()
        test.waitFor(count, stage)
        let time = ContinuousClock.now - start
        print("100,000 messages in \(time)")
        let numbers = test.journal.texts.compactMap { Int($0.dropFirst(5).prefix { $0 != "," }) }
        let isComplete = numbers == Array(0..<count)
        #expect(isComplete)
        test.waitForFloor(UInt64(count))
    }
}
