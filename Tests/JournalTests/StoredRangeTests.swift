import Events
import Journal
import Testing

/// Reads a range of a journal's files in pieces.
@Suite struct StoredRangeTests {
    private func positions(_ stored: StoredEvents, _ range: DumpRange, bytes: Int = 4_000) throws -> [UInt64] {
        let reader = try stored.makeReader(of: range)
        var batch = EventBatch()
        var positions: [UInt64] = []
        while try reader.read(into: &batch, maximumBytes: bytes) {
            for event in batch.events {
                positions.append(event.position)
                let json = String(decoding: batch.text(of: event), as: UTF8.self)
                #expect(json.contains("\"n\":\"\(event.position)-"))
                #expect(batch.origin(of: event)?.source == app.source)
            }
        }
        #expect(reader.progress.done <= reader.progress.total && reader.progress.done > 0 || positions.isEmpty)
        return positions
    }

    @Test func `a range has the events between its bounds, whatever the size of a piece`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        var times: [Int64] = []
        for number in 0..<200 {
            times.append(rig.clock.wallClock())
            try append(journal, [event(2 * number, size: 600), event(2 * number + 1, size: 600)])
            rig.clock.advance(.seconds(60))
        }
        try #require(rig.segmentNames.count > 2)
        let stored = try StoredEvents(directory: rig.directory, disk: rig.disk)
        for bytes in [1, 4_000, 1 << 20] {
            #expect(try positions(stored, DumpRange(), bytes: bytes) == Array(0..<400))
            #expect(
                try positions(stored, DumpRange(from: .position(33), until: .position(301)), bytes: bytes)
                    == Array(33..<301))
            #expect(
                try positions(stored, DumpRange(from: .time(times[70]), until: .time(times[150])), bytes: bytes)
                    == Array(140..<300))
        }
        #expect(try positions(stored, DumpRange(from: .position(400))).isEmpty)
        #expect(try positions(stored, DumpRange(until: .time(times[0]))).isEmpty)
    }

    @Test func `damage is skipped, and its positions are counted`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        for number in 0..<200 { try append(journal, [event(2 * number, size: 600), event(2 * number + 1, size: 600)]) }
        journal.stop()
        let second = try #require(UInt64(rig.segmentNames[1].prefix(20)))
        let path = rig.path(rig.segmentNames[1])
        let bytes = try rig.bytes(path)
        // Damages the first batch of the second segment.
        try rig.overwrite(path, [bytes[300] ^ 1], at: 300)
        let stored = try StoredEvents(directory: rig.directory, disk: rig.disk)
        let reader = try stored.makeReader(of: DumpRange())
        var batch = EventBatch()
        var count = 0
        while try reader.read(into: &batch, maximumBytes: 10_000) { count += batch.events.count }
        #expect(count == 398 && reader.missing == 2)
        #expect(reader.gaps == [second..<second + 2])
    }
}
