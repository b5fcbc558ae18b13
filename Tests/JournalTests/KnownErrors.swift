import Events
import Glibc
import Journal
import Platform
import Testing

// Short tests for errors that the simulation found. Tests/Simulation keeps the seeds.
@Suite struct KnownErrors {
    /// Writes three commits of one event each and stops the journal.
    /// - Returns: the offset of each commit in the first segment.
    private func three(_ rig: Rig, _ disk: MemoryDisk) throws -> [Int] {
        let journal = try rig.open()
        var starts: [Int] = []
        for number in 0..<3 {
            let bytes = disk.contents("/journal/00000000000000000000.seg") ?? []
            starts.append(((bytes.lastIndex { $0 != 0 } ?? -1) + 8) & ~7)
            try append(journal, [event(number)])
        }
        journal.stop()
        return starts
    }

    @Test func `a reader that starts in a damaged range reports the gap`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let starts = try three(rig, disk)
        let journal = try rig.open()
        defer { journal.stop() }
        disk.change("/journal/00000000000000000000.seg") { $0[starts[1]] ^= 1 }
        #expect(try readAll(journal, from: 1).map(\.position) == [2])
        #expect(journal.statistics().gaps.map(\.positions) == [1..<2])
    }

    @Test func `damage that has grown since its report is reported again`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let starts = try three(rig, disk)
        let journal = try rig.open()
        defer { journal.stop() }
        let name = "/journal/00000000000000000000.seg"
        disk.change(name) { $0[starts[0]] ^= 1 }
        #expect(try readAll(journal).map(\.position) == [1, 2])
        disk.change(name) { $0[starts[1]] ^= 1 }
        #expect(try readAll(journal).map(\.position) == [2])
        #expect(journal.statistics().gaps.map(\.positions) == [0..<1, 0..<2])
    }

    @Test func `a destination starts at or below the durable end`() throws {
        let disk = MemoryDisk()
        let journal = try Rig(disk).open(start: false)
        #expect(offer(journal, [event(0), event(1)]) == .queued(end: 2))
        try journal.declare(destinations: [("archive", journal.statistics().next)])
        #expect(journal.cursor(of: "archive")?.position == 0)
        // The power fails before anything is written: there is a cursor and no segment.
        let again = try Rig(disk.survivor()).open(start: false)
        #expect(again.statistics().gapCount == 0)
    }

    @Test(arguments: [JournalOptions.Sync.always, .never])
    func `a change of the sync mode makes written events durable`(to mode: JournalOptions.Sync) throws {
        var options = Rig.small
        options.sync = .interval(.seconds(3600))
        let journal = try Rig(MemoryDisk()).open(options)
        defer { journal.stop() }
        #expect(offer(journal, [event(0)]) == .queued(end: 1))
        try eventually { journal.acknowledgedEnd == 1 }
        #expect(journal.durableEnd == 0)
        options.sync = mode
        try journal.configure(options)
        try eventually { journal.durableEnd == 1 }
    }

    @Test func `the entry of the journal directory is synced before any file is written in it`() throws {
        let disk = MemoryDisk()
        disk.fail("fsync", "/above", code: EIO)
        #expect(throws: JournalError.self) {
            try Journal.open(
                directory: "/above/journal", options: Rig.small, disk: disk, clock: SystemClock(),
                telemetry: Rig(disk).telemetry)
        }
        #expect(disk.contents("/above/journal/manifest") == nil)
    }

    @Test func `a seal that may be only in the page cache is synced before it is trusted`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        try append(journal, [event(0)])
        journal.stop()
        let syncs = disk.syncs
        let again = try rig.open(start: false)
        #expect(disk.syncs > syncs)
        #expect(again.durableEnd == 1)
    }
}
