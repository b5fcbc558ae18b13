import Events
import Foundation
import Platform
import Testing

@testable import Journal

/// What another host told about the events that it received first, stored with them.
@Suite struct ReceiptTests {
    private func lane(_ position: Int, host: String = "edge-1", _ times: [Int64], mark: UInt64? = nil) -> LanePosition {
        LanePosition(
            lane: "a", position: Array("\(position)".utf8),
            mark: mark.map {
                OriginMark(origin: OriginID(high: 1, low: 2), place: OriginPlace(position: $0, part: 0))
            }, receipt: EarlierReceipt(host: host, times: times))
    }

    private func read(_ journal: Journal) throws -> [(event: EventRecord, origin: Origin?)] {
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        var found: [(EventRecord, Origin?)] = []
        while try reader.read(into: &batch, maximumBytes: 100_000) {
            for event in batch.events { found.append((event, batch.origin(of: event))) }
        }
        return found
    }

    private static let second: Int64 = 1_000_000_000

    @Test func `events keep the host and the time of their first receipt, and the time of their arrival`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        let times = [7 * Self.second, .min, 65 * Self.second + 999_999]
        try append(journal, [event(0), event(1), event(2)], lane: lane(1, times, mark: 9))
        try append(journal, [event(3)], lane: lane(2, host: "", [3 * Self.second]))
        try append(journal, [event(4)], lane: lane(3, host: "edge-2", []))
        try append(journal, [event(5)], lane: LanePosition(lane: "a", position: [4]))
        try append(journal, [event(6)])
        let after = try rig.killed(journal)
        let next = try after.open()
        defer { next.stop() }
        for journal in [journal, next] {
            let found = try read(journal)
            #expect(found.map { $0.origin?.host } == ["edge-1", "edge-1", "edge-1", "", "edge-2", nil, nil])
            #expect(found.prefix(4).map(\.event.firstReceivedAt) == times + [3 * Self.second])
            #expect(found[4...].allSatisfy { $0.event.firstReceivedAt == $0.event.receivedAt })
            // Their own times rise, whatever the host said.
            #expect(found.map(\.event.receivedAt) == found.map(\.event.receivedAt).sorted())
            #expect(found.allSatisfy { $0.event.receivedAt > 1000 * Self.second })
        }
        #expect(next.mark(of: "app", lane: "a", OriginID(high: 1, low: 2)) == OriginPlace(position: 9, part: 0))
        #expect(next.lanes(of: "app").map(\.position) == [[4]])
    }

    @Test func `every way to read gives the same times and hosts`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, [event(0), event(1)], lane: lane(1, [5 * Self.second, 6 * Self.second]))
        journal.stop()
        let stored = try StoredEvents(directory: rig.directory, disk: rig.disk)
        var batch = EventBatch()
        let reader = try stored.makeReader(of: DumpRange())
        while try reader.read(into: &batch, maximumBytes: 1000) {
            guard !batch.events.isEmpty else { continue }
            #expect(batch.events.map(\.firstReceivedAt) == [5 * Self.second, 6 * Self.second])
            #expect(batch.events.map { batch.origin(of: $0)?.host } == ["edge-1", "edge-1"])
        }
        var dumped: [DumpedEvent] = []
        try JournalInspector(directory: rig.directory, disk: rig.disk).forEachEvent(
            in: DumpRange(), onGap: { _ in }
        ) {
            dumped.append($0)
            return true
        }
        #expect(dumped.map(\.firstReceivedAt) == [5 * Self.second, 6 * Self.second])
        #expect(dumped.map(\.origin.host) == ["edge-1", "edge-1"])
    }

    @Test func `a record is found from its end, and any bytes are a record or none`() {
        var random = SystemRandomNumberGenerator()
        let events = (0..<3).map { ScannedEvent(offset: 0, length: 0, index: EventIndex(kind: .track), line: $0) }
        for host in ["", "h", "12345678", String(repeating: "x", count: 255)] {
            let record = ReceiptRecord(EarlierReceipt(host: host, times: [5, .max, .min]), of: events.span)
            var bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
            record.append(to: &bytes)
            #expect(bytes.count == record.size + 8)
            let found = ReceiptRecord.find(bytes.span.raw, endingAt: bytes.count, count: 3)
            #expect(found?.host == host && found?.times == 8)
            #expect(ReceiptRecord.find(bytes.span.raw, endingAt: bytes.count, count: 2) == nil)
            #expect(ReceiptRecord.find(bytes.span.raw, endingAt: bytes.count + 8, count: 3) == nil)
            for _ in 0..<5_000 {
                var damaged = bytes
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                let end = Int.random(in: -8...damaged.count, using: &random)
                guard let found = ReceiptRecord.find(damaged.span.raw, endingAt: end, count: 3) else { continue }
                #expect(found.times.map { $0 >= 0 && $0 + 24 <= end } ?? true)
            }
        }
        // A name that is too long is left out, and so are times that are not those of all events.
        let long = EarlierReceipt(host: String(repeating: "x", count: 256), times: [1, 2])
        let record = ReceiptRecord(long, of: events.span)
        #expect(record.host == "" && record.times.isEmpty && record.size == 8)
    }
}
