import Events
import Glibc
import Journal
import Platform
import Telemetry
import Testing

@Suite struct CursorTests {
    @Test func `a destination starts at its first declared position, and later declarations do not move it`() throws {
        let rig = try Rig()
        var journal = try rig.open()
        try append(journal, (0..<10).map { event($0) })
        #expect(journal.cursor(of: "d") == nil)
        try journal.declare(destinations: [("d", 4), ("e", 10)])
        try journal.declare(destinations: [("d", 0), ("e", 0)])
        #expect(journal.cursor(of: "d") == JournalCursor(position: 4))
        journal.advance("e", to: JournalCursor(position: 7, state: [1]))
        #expect(journal.cursor(of: "e") == JournalCursor(position: 10))
        journal.stop()
        journal = try rig.open()
        #expect(journal.cursor(of: "d") == JournalCursor(position: 4))
        #expect(journal.cursor(of: "e") == JournalCursor(position: 10))
        journal.stop()
        #expect(rig.telemetry.counts()["journal_cursor_lost"] == nil)
    }

    @Test func `an update with a state above the limit does not move the cursor`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        try journal.declare(destinations: [("d", 0)])
        journal.advance("d", to: JournalCursor(position: 1, state: [UInt8](repeating: 1, count: 4096)))
        journal.advance("d", to: JournalCursor(position: 2, state: [UInt8](repeating: 1, count: 4097)))
        #expect(journal.cursor(of: "d")?.position == 1)
        #expect(rig.telemetry.counts()["journal_file_problem"] == 1)
    }

    @Test func `committed cursors survive a power cut`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var journal = try rig.open()
        let names = (0..<300).map { "destination \($0)" }
        try append(journal, [event(0), event(1), event(2)])
        try journal.declare(destinations: names.map { ($0, 0) })
        for (index, name) in names.enumerated() {
            journal.advance(
                name,
                to: JournalCursor(
                    position: UInt64(index % 4), state: [UInt8](repeating: UInt8(index % 256), count: index * 13)))
        }
        try journal.commit()
        let survivor = Rig(disk.survivor())
        journal.stop()
        journal = try survivor.open()
        for (index, name) in names.enumerated() where index % 4 > 0 {
            #expect(
                journal.cursor(of: name)
                    == JournalCursor(
                        position: UInt64(index % 4), state: [UInt8](repeating: UInt8(index % 256), count: index * 13)))
        }
        journal.stop()
    }

    @Test func `a damaged slot falls back to the other slot, and two damaged slots to the declared start`() throws {
        let rig = try Rig()
        var journal = try rig.open()
        try append(journal, (0..<10).map { event($0) })
        try journal.declare(destinations: [("d", 2)])
        for position in 3...8 {
            journal.advance("d", to: JournalCursor(position: UInt64(position)))
            try journal.commit()
        }
        journal.stop()
        let whole = try rig.bytes(rig.path("cursors"))
        #expect(whole.count == 8192)
        var found: Set<UInt64> = []
        for slot in 0..<2 {
            try rig.overwrite(rig.path("cursors"), whole)
            try rig.overwrite(rig.path("cursors"), [whole[slot * 4096 + 40] ^ 1], at: slot * 4096 + 40)
            journal = try rig.open(start: false)
            found.insert(try #require(journal.cursor(of: "d")?.position))
            journal.stop()
        }
        #expect(found == [7, 8])
        #expect(rig.telemetry.counts()["journal_cursor_lost"] == nil)
        try rig.overwrite(rig.path("cursors"), [UInt8](repeating: 0xAA, count: 8192))
        journal = try rig.open()
        #expect(journal.cursor(of: "d") == JournalCursor(position: 2))
        #expect(rig.telemetry.counts()["journal_cursor_lost"] == 1)
        journal.advance("d", to: JournalCursor(position: 9))
        journal.stop()
        journal = try rig.open()
        #expect(journal.cursor(of: "d")?.position == 9)
        journal.stop()
    }

    @Test func `without its cursor file, a destination starts again at its declared start`() throws {
        let rig = try Rig()
        var journal = try rig.open()
        try append(journal, (0..<10).map { event($0) })
        try journal.declare(destinations: [("d", 2)])
        journal.advance("d", to: JournalCursor(position: 9))
        journal.stop()
        try rig.disk.remove(rig.path("cursors"))
        journal = try rig.open()
        #expect(journal.cursor(of: "d") == JournalCursor(position: 2))
        journal.stop()
    }

    @Test func `a failed commit of cursors throws, and the next commit uses a new file`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.cursorInterval = .seconds(1000)
        var journal = try rig.open(options)
        try append(journal, (0..<10).map { event($0) })
        try journal.declare(destinations: [("d", 0)])
        journal.advance("d", to: JournalCursor(position: 5))
        disk.fail("fdatasync", "/cursors", code: EIO)
        #expect(throws: JournalError.self) { try journal.commit() }
        try journal.commit()
        let survivor = Rig(disk.survivor())
        journal.stop()
        journal = try survivor.open()
        #expect(journal.cursor(of: "d")?.position == 5)
        journal.stop()
    }

    @Test func `positions between the end and a higher cursor are a gap and are not assigned again`() throws {
        let rig = try Rig()
        var journal = try rig.open()
        try append(journal, (0..<400).map { event($0, size: 120) })
        for number in 400..<410 { try append(journal, [event(number)]) }
        try journal.declare(destinations: [("d", 0)])
        journal.advance("d", to: JournalCursor(position: 410))
        journal.stop()
        // The last segment's last batches are damaged.
        let name = rig.path(try #require(rig.segmentNames.last))
        let last = (try rig.bytes(name).lastIndex { $0 != 0 } ?? 0) + 1
        try rig.overwrite(name, [UInt8](repeating: 0, count: 600), at: last - 600)
        journal = try rig.open()
        #expect(journal.durableEnd == 410)
        #expect(journal.statistics().gaps.map(\.reason) == [.damaged])
        try append(journal, [event(1000)])
        let found = try readAll(journal)
        #expect(found.last?.position == 410 && found.last?.json == event(1000))
        journal.stop()
    }
}
