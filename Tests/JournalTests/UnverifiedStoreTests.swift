import Journal
import Telemetry
import Testing

/// The records of destinations whose stores were not compared with the journal yet.
@Suite struct UnverifiedStoreTests {
    @Test func `the end since which a store is not verified survives restarts and new events`() throws {
        let rig = try Rig()
        var journal = try rig.open()
        try append(journal, (0..<10).map { event($0) })
        #expect(journal.recoveredEnd == 0)
        journal.stop()
        journal = try rig.open()
        #expect(journal.recoveredEnd == 10)
        journal.setUnverified(["d"], since: journal.recoveredEnd)
        try journal.declare(destinations: [("d", 0), ("e", 0)])
        for _ in 0..<3 {
            try append(journal, [event(0), event(1)])
            journal.stop()
            journal = try rig.open()
            journal.setUnverified(["d"], since: journal.recoveredEnd)
            #expect(journal.unverifiedEnd(of: "d") == 10)
            #expect(journal.unverifiedEnd(of: "e") == nil)
        }
        #expect(journal.cursor(of: "d") == JournalCursor(position: 0))
        #expect(journal.replays == [])
        journal.stop()
        #expect(rig.telemetry.counts()["journal_cursor_lost"] == nil)
    }

    @Test func `a destination is verified durably, and then the next start counts`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        journal.setUnverified(["d", "e"], since: 0)
        try journal.declare(destinations: [("d", 0), ("e", 0)])
        try append(journal, [event(0), event(1), event(2)])
        try journal.setVerified("d")
        let survivor = Rig(disk.survivor())
        journal.stop()
        let next = try survivor.open()
        #expect(next.unverifiedEnd(of: "d") == nil)
        #expect(next.unverifiedEnd(of: "e") == 0)
        next.setUnverified(["d", "e"], since: next.recoveredEnd)
        #expect(next.unverifiedEnd(of: "d") == 3)
        #expect(next.unverifiedEnd(of: "e") == 0)
        next.stop()
    }

    @Test func `destinations that are already verified cost no write`() throws {
        let disk = MemoryDisk()
        let journal = try Rig(disk).open(start: false)
        defer { journal.stop() }
        let names = (0..<100).map { "d\($0)" }
        journal.setUnverified(names, since: 0)
        try journal.declare(destinations: names.map { ($0, 0) })
        try journal.setVerified("d0")
        let before = disk.syncs
        for _ in 0..<10 { try journal.setVerified("d0") }
        #expect(disk.syncs == before)
        #expect(journal.unverifiedEnd(of: "d1") == 0)
    }

    /// An earlier version delivers without removing the record.
    @Test func `a record is void once the destination's state has changed`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, (0..<10).map { event($0) })
        journal.setUnverified(["d"], since: 4)
        try journal.declare(destinations: [("d", 0)])
        journal.setUnverified(["d"], since: 10)
        #expect(journal.unverifiedEnd(of: "d") == 4)
        journal.advance("d", to: JournalCursor(position: 8, state: [1]))
        journal.setUnverified(["d"], since: 10)
        #expect(journal.unverifiedEnd(of: "d") == 10)
        journal.stop()
    }

    @Test func `an inspection notes the stores that are not verified, and takes none for a destination`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, (0..<10).map { event($0) })
        journal.setUnverified(["d"], since: 4)
        try journal.declare(destinations: [("d", 0)])
        journal.stop()
        let found = try JournalInspector(directory: rig.directory, disk: rig.disk).inspect()
        #expect(found.cursors.map(\.destination) == ["d"])
        #expect(found.verdict == .whole)
        #expect(
            found.notes == [
                "cursors: the store of destination d is not compared with the journal since position 4"
            ])
    }
}
