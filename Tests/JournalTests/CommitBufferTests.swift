import Events
import Glibc
import Platform
import Testing

@testable import Journal

extension CommitBuffer {
    /// Copies events at once.
    func add(_ bytes: Span<UInt8>, _ events: Span<ScannedEvent>, from origin: Origin, position: UInt64) {
        _ = CommitBuffer.fill(reserve(events, from: origin, position: position, receivedAt: 0), bytes, events)
    }
}

/// Several threads copy their events to one buffer at the same time.
@Suite struct CommitBufferTests {
    private static let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)
    /// A batch has at most 8,176 bytes.
    private static let limits = BatchLimits(segmentSize: 64 << 10)

    /// Events as one client sends them: so many bytes each, all alike.
    private struct Sent {
        var bytes: [UInt8] = []
        var events: [ScannedEvent] = []

        init(_ byte: UInt8, _ sizes: [Int]) {
            for size in sizes {
                events.append(
                    ScannedEvent(
                        offset: UInt32(bytes.count), length: UInt32(size), index: EventIndex(kind: .track)))
                bytes += [UInt8](repeating: byte, count: size)
            }
        }
    }

    private func contents(_ buffer: CommitBuffer) -> [UInt8] {
        buffer.withBytes(0..<buffer.count) { bytes in bytes.indices.map { bytes[$0] } }
    }

    /// The records' JSON, in order, as its first byte and its length; nil: a record that is not whole.
    private func records(_ buffer: CommitBuffer) -> [(byte: UInt8, length: Int)]? {
        var found: [(UInt8, Int)] = []
        for mark in buffer.marks {
            var offset = mark.offset + BatchHeader.size + Int(mark.header.sourceLength).paddedTo8
            for _ in 0..<mark.header.count {
                let record = buffer.withBytes(offset..<mark.end) { bytes -> (UInt8, Int)? in
                    let header = unsafe RecordLayout.read(bytes.bytes, at: 0, end: bytes.count)
                    guard let length = header?.length else { return nil }
                    let json = bytes.extracting(RecordLayout.headerSize..<RecordLayout.headerSize + length)
                    return json.indices.allSatisfy { json[$0] == json[0] } ? (json[0], length) : nil
                }
                guard let record else { return nil }
                found.append(record)
                offset += RecordLayout.size(record.1)
            }
            if offset != mark.end { return nil }
        }
        return found
    }

    @Test func `places that are filled in another order have the same bytes`() throws {
        let clients = [
            Sent(65, [100, 3000, 1]), Sent(66, [5000, 4000, 12_000, 7, 8]), Sent(67, [8]), Sent(68, [9000, 9000]),
        ]
        let (inOrder, backwards) = (
            CommitBuffer(capacity: 128 << 10, limits: Self.limits),
            CommitBuffer(capacity: 128 << 10, limits: Self.limits)
        )
        var places: [CommitBuffer.Place] = []
        var position: UInt64 = 7
        for client in clients {
            inOrder.add(client.bytes.span, client.events.span, from: Self.origin, position: position)
            places.append(
                backwards.reserve(client.events.span, from: Self.origin, position: position, receivedAt: 0))
            position += UInt64(client.events.count)
        }
        for (place, client) in zip(places, clients).reversed() {
            #expect(!backwards.isFilled())
            // Only the last one wakes the writer, which has asked.
            let isLast = client.bytes[0] == 65
            let wakes = CommitBuffer.fill(place, client.bytes.span, client.events.span)
            #expect(wakes == isLast)
        }
        #expect(backwards.isFilled() && contents(backwards) == contents(inOrder))
        #expect(inOrder.marks.count > 4, "batches have ended between events of one client")
        let sent = clients.flatMap { client in client.events.map { (client.bytes[0], Int($0.length)) } }
        let found = try #require(records(inOrder))
        #expect(found.elementsEqual(sent, by: ==))
        #expect(inOrder.marks.map(\.header.firstPosition) == backwards.marks.map(\.header.firstPosition))
        #expect(inOrder.marks.last?.header.endPosition == position)
    }

    @Test func `the writer that has not asked is not woken`() {
        let buffer = CommitBuffer(capacity: 64 << 10, limits: Self.limits)
        let sent = Sent(65, [10])
        let place = buffer.reserve(sent.events.span, from: Self.origin, position: 1, receivedAt: 0)
        let wakes = CommitBuffer.fill(place, sent.bytes.span, sent.events.span)
        #expect(!wakes && buffer.isFilled())
    }

    /// What the writer takes is whole once it is filled, and the writer is woken for it.
    @Test func `threads append while the writer takes`() throws {
        var options = JournalOptions()
        options.queueBytes = 256 << 10
        options.memoryBytes = 1 << 20
        let (bell, clock) = (Doorbell(), SystemClock())
        let queue = AppendQueue(options: options, clock: clock, next: 1, lanes: [:], room: 1 << 30, bell: bell)
        // Clients whose writer has failed end.
        defer { queue.end() }
        let (clients, rounds) = (4, 104)
        let threads = (0..<clients).map { number in
            WorkerThread(name: "client") {
                // Large enough for copies that last, and small ones between them.
                let sent = (0..<8).map { Sent(UInt8(65 + number), [Int](repeating: 1 + $0 * 700, count: 1 + $0 * 5)) }
                for round in 0..<rounds {
                    let sent = sent[round % sent.count]
                    while case .busy = queue.append(
                        sent.bytes.span, events: sent.events.span, from: Self.origin, lane: nil)
                    { sched_yield() }
                }
            }
        }
        let perRound = (0..<rounds).map { 1 + $0 % 8 * 5 }.reduce(0, +)
        var counts = [UInt8: Int]()
        var total = 0
        while total < clients * perRound {
            guard let buffer = queue.take() else {
                try #require(bell.wait(until: clock.now() + .seconds(30)), "the writer is woken for queued events")
                continue
            }
            while !buffer.isFilled() {
                try #require(bell.wait(until: clock.now() + .seconds(30)), "the writer is woken for a filled buffer")
            }
            let found = try #require(records(buffer), "a record is not whole")
            for (byte, _) in found { counts[byte, default: 0] += 1 }
            total += found.count
            queue.giveBack(buffer)
        }
        for thread in threads { thread.join() }
        #expect(counts == Dictionary(uniqueKeysWithValues: (0..<clients).map { (UInt8(65 + $0), perRound) }))
        #expect(queue.queuedBytes == 0)
    }
}
