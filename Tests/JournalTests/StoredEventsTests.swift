import Events
import Journal
import Testing

/// Reads the files of a journal while the daemon writes them.
@Suite struct StoredEventsTests {
    @Test func `a reader of stored events starts at any position and skips damage`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        for number in 0..<200 { try append(journal, [event(2 * number, size: 600), event(2 * number + 1, size: 600)]) }
        try journal.declare(destinations: [("d", 7)])
        try #require(rig.segmentNames.count > 2)
        let stored = try StoredEvents(directory: rig.directory, disk: rig.disk)
        #expect(stored.start(of: "d") == 7 && stored.start(of: "e") == 0)

        func positions(from position: UInt64) throws -> [UInt64] {
            let reader = try stored.makeReader(from: position)
            var positions: [UInt64] = []
            while let batch = try reader.next() {
                for event in batch.events {
                    positions.append(event.position)
                    #expect(
                        String(decoding: batch.text(of: event), as: UTF8.self).contains("\"n\":\"\(event.position)-")
                    )
                }
            }
            return positions
        }
        for position in [0, 1, 2, 199, 399] as [UInt64] {
            #expect(try positions(from: position) == Array(position..<400))
        }
        #expect(try positions(from: 400).isEmpty)
        let second = try #require(UInt64(rig.segmentNames[1].prefix(20)))
        let path = rig.path(rig.segmentNames[1])
        let bytes = try rig.bytes(path)
        // Damages the first batch of the second segment.
        try rig.overwrite(path, [bytes[300] ^ 1], at: 300)
        #expect(try positions(from: 0) == (0..<400).filter { !(second..<second + 2).contains($0) })
        #expect(try stored.event(at: second) == nil)
        #expect(try stored.event(at: second + 2)?.events.map(\.position) == [second + 2])
        #expect(try stored.last { event, _ in event.position <= second + 1 }?.events.first?.position == second - 1)
    }
}
