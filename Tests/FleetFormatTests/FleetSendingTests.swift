import FleetFormat
import PenstockPluginKit
import Testing

/// How a batch becomes messages, in which order they are sent, and how messages become offers.
@Suite struct FleetSendingTests {
    private static let edge = "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7a"

    private typealias Sent = (partition: Int, position: UInt64, json: String)

    /// The messages of one batch.
    private func messages(_ writer: FleetWriter, _ events: [Sent]) -> (messages: [FleetMessage], tooLarge: [Int]) {
        unsafe events.map(\.json).joined().utf8.map(\.self).withUnsafeBytes { bytes in
            var start = 0
            for (index, event) in events.enumerated() {
                let end = start + event.json.utf8.count
                unsafe writer.add(
                    index, to: event.partition, FleetPlace(position: event.position, part: 0), receivedAt: 5,
                    UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
            return writer.finish()
        }
    }

    private func places(_ message: FleetMessage) throws -> [UInt64] {
        let body = try #require(
            unsafe message.body.withUnsafeBytes { unsafe FleetExpander(limit: 1 << 20).expand($0) })
        return try #require(FleetBody.read(body)).map(\.place.position)
    }

    @Test func `each partition gets a message with its events in order`() throws {
        let writer = FleetWriter(partitions: 4, level: 1, limit: 1 << 20)
        for _ in 0..<2 {
            let (messages, tooLarge) = messages(writer, (0..<100).map { ($0 % 3, UInt64(1000 + $0), "{\"n\":\($0)}") })
            #expect(messages.map(\.partition).sorted() == [0, 1, 2] && tooLarge.isEmpty)
            for message in messages {
                #expect(message.events == stride(from: message.partition, to: 100, by: 3).map { $0 })
                #expect(message.first.position == UInt64(1000 + message.partition))
                #expect(message.last.position == UInt64(1000 + (message.events.last ?? 0)))
                #expect(try places(message) == message.events.map { UInt64(1000 + $0) })
            }
        }
        #expect(writer.finish().messages.isEmpty)
    }

    @Test func `a message that would be too large is halved, and an event that is too large is named`() throws {
        var random = SystemRandomNumberGenerator()
        func noise(_ count: Int) -> String {
            let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
            let text = (0..<count).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] }
            return "\"\(String(text))\""
        }
        let writer = FleetWriter(partitions: 1, level: 1, limit: 1000)
        let (messages, tooLarge) = messages(
            writer, (0..<50).map { (0, UInt64($0), noise($0 == 20 ? 5000 : 100)) })
        #expect(tooLarge == [20])
        #expect(messages.count > 3 && messages.allSatisfy { $0.body.count <= 1000 })
        #expect(messages.flatMap(\.events) == (0..<50).filter { $0 != 20 })
        #expect(try messages.flatMap(places) == (0..<50).filter { $0 != 20 }.map { UInt64($0) })
    }

    @Test func `messages with other events have other names, whatever their ends are`() throws {
        let writer = FleetWriter(partitions: 1, level: 1, limit: 1 << 20)
        var names: [String] = []
        for positions in [[1, 2, 9], [1, 9], [1, 3, 9], [1, 2, 9]] as [[UInt64]] {
            names.append(try #require(messages(writer, positions.map { (0, $0, "{}") }).messages.first).id)
        }
        #expect(Set(names).count == 3 && names[0] == names[3])
        #expect(names.allSatisfy { $0.hasPrefix("1-9:") })
    }

    private func message(_ number: Int, _ partition: Int, _ events: [Int]) -> FleetMessage {
        FleetMessage(
            number: number, partition: partition, events: events, first: FleetPlace(position: 0, part: 0),
            last: FleetPlace(position: 0, part: 0), body: [])
    }

    @Test func `a partition's message is sent when the one before is acknowledged`() {
        var outbox = FleetOutbox()
        let first = outbox.begin([
            message(0, 0, [0]), message(1, 1, [1]), message(2, 1, [2, 3]), message(3, 1, [4]),
        ])
        #expect(first.map(\.events) == [[0], [1]])
        // Of a message that is not sent yet, there is no answer.
        #expect(outbox.acknowledge(2).delivered == [] && outbox.fail(3) == [])
        let (one, second) = outbox.acknowledge(1)
        #expect(one == [1] && second?.events == [2, 3])
        // An answer that comes twice is not one to the next message.
        #expect(outbox.acknowledge(1).delivered == [] && outbox.fail(1) == [])
        // Everything of the partition comes again, and nothing of another one.
        #expect(outbox.fail(2) == [2, 3, 4])
        #expect(outbox.fail(2) == [] && outbox.acknowledge(2).delivered == [])
        #expect(!outbox.isEmpty)
        let (last, none) = outbox.acknowledge(0)
        #expect(last == [0] && none == nil && outbox.isEmpty)
    }

    private func read(
        _ events: Int, limits: (Int, Int) = (1000, 1 << 18), version: String? = "1", edge: String? = edge,
        isBackfill: Bool = false, damaged: Bool = false, host: String? = nil
    ) throws -> [EventBuffer] {
        let writer = FleetWriter(partitions: 1, level: 1, limit: 1 << 20)
        let sent = (0..<events).map { (0, UInt64($0), #"{"n":\#($0)}"#) }
        var body = try #require(messages(writer, sent).messages.first).body
        if damaged { body[body.count / 2] ^= 1 }
        let headers = [
            FleetHeader.format: version, FleetHeader.edge: edge, FleetHeader.sequence: "bus 0/1",
            FleetHeader.backfill: isBackfill ? "1" : nil, FleetHeader.host: host,
        ]
        return unsafe try body.withUnsafeBytes {
            unsafe try FleetReading().offers($0, limits) { headers[$0] ?? nil }
        }
    }

    @Test func `a message becomes offers within the host's limits, with the edge as their origin`() throws {
        let offers = try read(2500)
        #expect(offers.map(\.count) == [1000, 1000, 500])
        let origin = FleetOrigin.id(edge: Self.edge, sequence: "bus 0/1")
        #expect(offers.allSatisfy { $0.origin == origin && $0.host == nil })
        #expect(try read(2500, host: "web-1").allSatisfy { $0.host == "web-1" })
        for wrong in ["", "a b", "é", String(repeating: "x", count: 256)] {
            #expect(try read(1, host: wrong).first?.host == nil)
        }
        #expect(try read(10, limits: (1000, 14)).map(\.count) == [2, 2, 2, 2, 2])
        #expect(try read(10, limits: (1000, 1)).map(\.count) == Array(repeating: 1, count: 10))
        // What is repeated on purpose must not be left out.
        #expect(try read(10, isBackfill: true).map(\.origin) == [nil])
    }

    @Test func `each partition of each destination of each edge is an origin of its own`() {
        var ids: Set<String> = []
        for edge in [Self.edge, "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7b"] {
            for sequence in ["bus 0/1", "bus 0/2", "bus 1/2", "bus2 0/1", ""] {
                let id = FleetOrigin.id(edge: edge, sequence: sequence)
                #expect(id.utf8.count == 36 && id.dropFirst(14).first == "8")
                ids.insert(id)
            }
        }
        #expect(ids.count == 10)
        // It never changes: aggregators have stored it.
        for edge in [Self.edge, Self.edge.uppercased()] {
            #expect(FleetOrigin.id(edge: edge, sequence: "bus 7/64") == "dad31b42-a5f2-835c-b1f0-4067b57d697d")
        }
    }

    @Test func `what is no batch is named, and a newer one is kept`() throws {
        func problem(_ body: () throws -> [EventBuffer]) throws -> FleetReading.Problem {
            try #require(throws: FleetReading.Problem.self) { _ = try body() }
        }
        #expect(try problem { try read(1, version: "2") }.isUnreadable == false)
        #expect(try problem { try read(1, version: "2") }.description.contains("upgrade it"))
        #expect(try problem { try read(1, edge: nil) }.isUnreadable)
        #expect(try problem { try read(1, edge: "me") }.isUnreadable)
        #expect(try problem { try read(100, damaged: true) }.isUnreadable)
    }
}
