import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// Batches from edges to aggregators: the nats plugin as a sink with `format: penstock`, and as a source.
@Suite struct NATSFleetTests {
    private static let edge = "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7a"
    private let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.add(
            "nats.so", try Data(contentsOf: URL(fileURLWithPath: TestCompiler.built("libpenstock-nats.so"))))
    }

    private func sink(
        _ servers: NATSServers, _ more: String = "", journal: String = edge, destination: String = "bus"
    ) throws -> PluginStage {
        let settings = #"""
            {"servers":\#(servers.urls),"subject":"fleet.{partition}","stream":"S","format":"penstock","partitions":4\#(more)}
            """#
        let stage = try PluginStage("nats", in: directory, settings: settings, journal: journal) {
            $0.destination = destination
        }
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    private func test(_ servers: NATSServers? = nil) throws -> NATSSourceTest {
        let test = try NATSSourceTest(servers, subject: nil)
        try test.client.create("S", "fleet.*")
        return test
    }

    /// A server that has lost a request for messages is noticed 5 s after `wait`.
    private static let lanes = #","subject":"fleet.{partition}","partitions":"0-1,2,3-3","wait":"1s""#

    private static func event(_ number: UInt64) -> String { #"{"userId":"u\#(number % 10)","n":\#(number)}"# }

    /// Places rise within a partition only, so a lane of several partitions has a mark for each.
    @Test(arguments: ["", #","subjects":["fleet.*"]"#, #","subjects":["fleet.>"],"batch":7,"batch_bytes":1"#])
    func `one lane of several partitions stores everything once`(lanes: String) throws {
        let test = try test()
        let stage = try test.open(lanes)
        for _ in 0..<2 {
            let sink = try sink(test.servers)
            try deliver(sink, 0..<2000)
            sink.destination.close()
        }
        test.waitFor(2000, stage)
        try expectOnce(test.journal, 0..<2000)
    }

    @Test func `two destinations of one edge do not pass one another's events`() throws {
        let test = try test()
        let stage = try test.open(Self.lanes)
        try deliver(try sink(test.servers), 1000..<2000)
        // Their positions are below those of the first one.
        try deliver(try sink(test.servers, destination: "other"), 0..<1000)
        test.waitFor(2000, stage)
        #expect(Set(test.journal.texts).count == 2000 && test.journal.count == 2000)
    }

    /// Far more bytes than a request asks for.
    @Test func `large messages come one after the other`() throws {
        let test = try test()
        let text = String(repeating: "x", count: 900_000)
        for number in 0..<30 { try test.client.publish("fleet.0", #"{"n":\#(number),"text":"\#(text)"}"#, [:]) }
        let stage = try test.open(Self.lanes)
        test.waitFor(30, stage)
        #expect(stage.problems.isEmpty)
    }

    private func deliver(_ stage: PluginStage, _ positions: Range<UInt64>, batch: Int = 100) throws {
        let driver = SinkDriver(stage: stage, batch: batch, inFlight: 1, event: Self.event)
        let result = try driver.deliver(positions)
        #expect(result.delivered.count == positions.count, "\(result.reasons) \(result.rejected)")
    }

    /// Each event once, and each user's events in one lane and in order.
    private func expectOnce(_ journal: LaneJournal, _ positions: Range<UInt64>) throws {
        let events = try journal.now.events.map { lane, text in
            let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            return (lane: lane, user: json["userId"] as? String ?? "", number: json["n"] as? UInt64 ?? 0)
        }
        #expect(events.map(\.number).sorted() == Array(positions))
        for user in Set(events.map(\.user)) {
            let own = events.filter { $0.user == user }
            #expect(Set(own.map(\.lane)).count == 1)
            #expect(own.map(\.number) == own.map(\.number).sorted())
        }
    }

    @Test func `events come once and in order for each user, in few messages`() throws {
        let test = try test()
        let sink = try sink(test.servers)
        try deliver(sink, 0..<3000, batch: 500)
        #expect(try test.client.count("S") <= 6 * 4)
        let stage = try test.open(Self.lanes)
        test.waitFor(3000, stage)
        try deliver(sink, 3000..<5000, batch: 500)
        test.waitFor(5000, stage)
        try expectOnce(test.journal, 0..<5000)
        #expect(stage.openLanes.count == 4 && stage.violations.isEmpty)
        #expect(test.journal.now.marks.values.allSatisfy { $0.count == 1 })
        // The right to each lane was told.
        #expect(stage.deadlines.count == 4)
    }

    /// An edge whose acknowledgements got lost, or that starts again behind what it has sent, sends in other batches.
    @Test func `what an edge sends again is left out, however it is divided`() throws {
        let test = try test()
        let stage = try test.open(Self.lanes)
        for (round, batch) in [100, 70, 333].enumerated() {
            // A new process each time.
            let sink = try sink(test.servers)
            try deliver(sink, 0..<UInt64(1000 * (round + 1)), batch: batch)
            sink.destination.close()
            test.waitFor(1000 * (round + 1), stage)
        }
        // Another edge's events are others.
        try deliver(try sink(test.servers, journal: UUID().uuidString), 3000..<3500)
        test.waitFor(3500, stage)
        try expectOnce(test.journal, 0..<3500)
        #expect(test.journal.now.repeated >= 1000)
    }

    @Test func `a message that comes a hundred times is stored once`() throws {
        let test = try test()
        try deliver(try sink(test.servers), 0..<400)
        let stage = try test.open(Self.lanes)
        test.waitFor(400, stage)
        for _ in 0..<100 { try test.client.republish("S", last: 4) }
        try deliver(try sink(test.servers), 400..<800)
        test.waitFor(800, stage)
        try expectOnce(test.journal, 0..<800)
        #expect(test.journal.now.repeated > 100)
    }

    /// A message of more than an offer is stored in several commits. A crash between them must not repeat the first.
    @Test func `an aggregator that is killed again and again stores everything once`() throws {
        let test = try test()
        try deliver(try sink(test.servers), 0..<8000, batch: 4000)
        for round in 1...8 {
            let stage = try test.open(Self.lanes) {
                $0.maxOfferEvents = 70
                $0.window = 20_000
            }
            test.waitFor(round * 300, stage)
            stage.crash()
        }
        let stage = try test.open(Self.lanes)
        test.waitFor(8000, stage)
        try expectOnce(test.journal, 0..<8000)
    }

    @Test func `a stop between two parts of a message stores the rest, so that another host repeats nothing`() throws {
        let test = try test()
        try deliver(try sink(test.servers), 0..<8000, batch: 8000)
        let other = LaneJournal()
        for round in 0..<6 {
            let journal = round % 2 == 0 ? test.journal : other
            let stage = try test.open(Self.lanes, journal: journal) { $0.maxOfferEvents = 50 }
            #expect(pluginEventually { test.journal.count + other.count >= min(8000, 1000 * (round + 1)) })
            stage.close()
        }
        let last = try test.open(Self.lanes, journal: other)
        #expect(pluginEventually { test.journal.count + other.count >= 8000 })
        last.close()
        let numbers = (test.journal.texts + other.texts).sorted()
        #expect(numbers.count == 8000 && Set(numbers).count == 8000)
    }

    @Test func `a replay is stored again`() throws {
        let test = try test()
        let stage = try test.open(Self.lanes)
        let sink = try sink(test.servers)
        try deliver(sink, 0..<100)
        test.waitFor(100, stage)
        var batch = PluginStage.batch((0..<10).map { (UInt64($0), .track, Self.event(UInt64($0))) })
        batch.livePosition = 100
        let offer = sink.offer(batch)
        #expect(pluginEventually { sink.outcomes(offer, count: 10) == Array(repeating: .delivered, count: 10) })
        test.waitFor(110, stage)
        #expect(test.journal.count == 110)
        // Live events go on behind it.
        try deliver(sink, 100..<200)
        test.waitFor(210, stage)
    }

    @Test func `a broker that is killed and comes back changes nothing`() throws {
        let test = try test(try NATSServers(3))
        let sink = try sink(test.servers)
        let stage = try test.open(Self.lanes)
        let driver = SinkDriver(stage: sink, batch: 50, inFlight: 1, event: Self.event)
        var kills = 0
        let result = try driver.deliver(0..<4000) { result in
            guard kills < 3, result.delivered.count > 1000 * (kills + 1) else { return }
            kills += 1
            let leader = try test.client.leader("S")
            test.servers.end(leader)
            try test.servers.start(leader)
        }
        #expect(result.delivered.count == 4000 && kills == 3)
        test.waitFor(4000, stage)
        try expectOnce(test.journal, 0..<4000)
    }

    @Test func `messages that no version can read are left out, and those of a newer one are waited with`() throws {
        let test = try test()
        try test.client.publish("fleet.0", "no zstd", ["penstock-format": "1", "penstock-edge": Self.edge])
        try test.client.publish("fleet.0", "no zstd", ["penstock-format": "1", "penstock-edge": "x"])
        try test.client.publish("fleet.0", #"{"n":0}"#, [:])
        let stage = try test.open(Self.lanes)
        test.waitFor(1, stage)
        #expect(stage.counters["nats_skipped"] == 2)
        try test.client.publish("fleet.1", "?", ["penstock-format": "2", "penstock-edge": Self.edge])
        #expect(pluginEventually { stage.problem?.contains("upgrade it") == true })
        try deliver(try sink(test.servers), 0..<100)
        // The other lanes go on.
        #expect(pluginEventually { Set(test.journal.now.events.map(\.lane)).count >= 2 })
        #expect(!test.journal.now.events.contains { $0.lane.hasSuffix("fleet.1") })
    }

    @Test(arguments: [
        (#""subject":"f.{partition}""#, "settings.partitions: is missing"),
        (#""partitions":"0-3""#, "settings.subject: is missing"),
        (#""subject":"f.{partition}","partitions":"0-3","subjects":["a"]"#, "settings.subjects: cannot be given"),
        (#""subject":"f","partitions":"0-3""#, "has no {partition}"),
        (#""subject":"f.{partition}","partitions":"0-64""#, "has more than 64 partitions"),
        (#""subject":"f.{partition}","partitions":"0-9223372036854775807""#, "is not a list"),
        (#""subject":"f.{partition}","partitions":"3-1""#, "is not a list"),
        (#""subject":"f.{partition}","partitions":"-1""#, "is not a list"),
        (#""subject":"f.{partition}","partitions":"1,,2""#, "is not a list"),
        (#""subject":"f.{partition}","partitions":"1-2-3""#, "is not a list"),
        (#""subject":"f.{partition}","partitions":"٣""#, "is not a list"),
        (#""subject":"f.{partition}","partitions":"1,0-1""#, "has a number twice"),
    ])
    func `bad partitions of a source are named`(settings: String, words: String) throws {
        let test = try test()
        let error = #expect(throws: (any Error).self) { try test.open("," + settings) }
        #expect(error.map { "\($0)" }?.contains(words) == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        (#""subject":"events""#, "settings.subject: \"events\" has no {partition}"),
        (#""subject":"e.{partition}.{kind}""#, "another placeholder"),
        (#""subject":"e..{partition}""#, "is not a subject"), (#""subject":"*.{partition}""#, "is not a subject"),
        (#""subject":"e.{partition}","partitions":0"#, "partitions"),
        (#""subject":"e.{partition}","compression_level":20"#, "compression_level"),
        (#""subject":"e.{partition}","format":"event","partitions":3"#, "settings.format: is not penstock"),
    ])
    func `bad settings are named`(settings: String, words: String) throws {
        let format = settings.contains("format") ? "" : #","format":"penstock""#
        let stage = try PluginStage(
            "nats", in: directory, settings: #"{"servers":["nats://127.0.0.1:1"],\#(settings)\#(format)}"#,
            journal: Self.edge)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }
}
