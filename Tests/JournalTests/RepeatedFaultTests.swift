import Events
import Glibc
import Journal
import Platform
import Telemetry
import Testing

// Sequences of faults that the simulation found. Tests/Simulation/Scenario.swift produces them.
@Suite struct RepeatedFaultTests {
    private static let segment = "/journal/00000000000000000000.seg"

    // MARK: The cursors

    /// After a kill the latest slot may be only in the page cache. Then the other slot is the only one on disk.
    @Test func `the first commit after a start changes no slot of the old file`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        do {
            let journal = try rig.open(start: false)
            try journal.declare(destinations: [("d", 0)])
            journal.advance("d", to: JournalCursor(position: 0, state: [1]))
            try journal.commit()
        }
        let before = try #require(disk.contents("/journal/cursors"))
        let journal = try rig.open(start: false)
        journal.advance("d", to: JournalCursor(position: 0, state: [2]))
        disk.fail("fdatasync", "/journal/cursors", code: EIO)
        #expect(throws: JournalError.self) { try journal.commit() }
        #expect(disk.contents("/journal/cursors") == before)
        try journal.commit()
        #expect(try Rig(disk.survivor()).open(start: false).cursor(of: "d")?.state == [2])
    }

    /// The number of failures before the filesystem is full does not matter.
    @Test(arguments: 1...3)
    func `on a full filesystem a commit reuses the older slot of the old cursor file`(failures: Int) throws {
        let disk = MemoryDisk()
        let journal = try Rig(disk).open(start: false)
        try journal.declare(destinations: [("d", 0)])
        journal.advance("d", to: JournalCursor(position: 0, state: [1]))
        try journal.commit()
        func generation(_ slot: Int) -> UInt8 { disk.contents("/journal/cursors")?[slot * 4096 + 8] ?? 0 }
        let latest = generation(0) > generation(1) ? 0 : 1
        let before = disk.contents("/journal/cursors")?[latest * 4096..<latest * 4096 + 4096]
        disk.fail("pwrite", "/journal/cursors", code: EIO, times: failures)
        journal.advance("d", to: JournalCursor(position: 0, state: [2]))
        for _ in 0..<failures { #expect(throws: JournalError.self) { try journal.commit() } }
        disk.heal()
        disk.fail("pwrite", "/journal/cursors.new", code: ENOSPC, times: 10)
        journal.advance("d", to: JournalCursor(position: 0, state: [3]))
        try journal.commit()
        let isUntouched = disk.contents("/journal/cursors")?[latest * 4096..<latest * 4096 + 4096] == before
        #expect(isUntouched)
        #expect(try Rig(disk.survivor()).open(start: false).cursor(of: "d")?.state == [3])
    }

    /// The sync of the directory fails after the new file was renamed, so the name that the next commit finds may not be
    /// on disk.
    @Test func `on a full filesystem a commit makes the name of the cursor file durable`() throws {
        let disk = MemoryDisk()
        try Rig(disk).open(start: false).declare(destinations: [("d", 0)])
        let journal = try Rig(disk).open(start: false)
        journal.advance("d", to: JournalCursor(position: 0, state: [1]))
        disk.fail("fsync", "/journal", code: EIO)
        #expect(throws: JournalError.self) { try journal.commit() }
        disk.heal()
        disk.fail("pwrite", "/journal/cursors.new", code: ENOSPC, times: 10)
        try journal.commit()
        #expect(try Rig(disk.survivor()).open(start: false).cursor(of: "d")?.state == [1])
    }

    /// A flipped bit in a new cursor file loses no cursors.
    @Test(arguments: [0, 4096])
    func `a new cursor file has two whole slots`(slot: Int) throws {
        let disk = MemoryDisk()
        try Rig(disk).open(start: false).declare(destinations: [("d", 0)])
        for _ in 0..<2 {
            let journal = try Rig(disk).open(start: false)
            journal.advance("d", to: JournalCursor(position: 0, state: [7]))
            try journal.commit()
        }
        disk.change("/journal/cursors") { $0[slot + 40] ^= 1 }
        #expect(try Rig(disk).open(start: false).cursor(of: "d")?.state == [7])
    }

    @Test func `a new journal writes its cursor file before its first segment`() throws {
        let disk = MemoryDisk()
        _ = try Rig(disk).open(start: false)
        #expect(disk.survivor().contents("/journal/cursors") != nil)
    }

    // MARK: Segments of this journal and of another

    /// Makes two segments and no cursors, as a power cut with `sync: never` leaves a new journal.
    private func twoSegments() throws -> MemoryDisk {
        let disk = MemoryDisk()
        let journal = try Rig(disk).open()
        for number in 0..<40 { try append(journal, [event(number, size: 3000)]) }
        journal.stop()
        try disk.remove("/journal/cursors")
        return disk
    }

    private func segments(_ disk: MemoryDisk) -> [String] { Rig(disk).segmentNames.map { "/journal/" + $0 } }

    @Test(arguments: [0, 600])
    func `a journal opens although no segment has a whole batch`(whole: Int) throws {
        let disk = try twoSegments()
        try #require(segments(disk).count == 2)
        for path in segments(disk) {
            // Keeps a part of the first batch, or only flips a bit.
            disk.change(path) { bytes in
                for index in bytes.indices where index >= whole { bytes[index] = 0 }
                bytes[8] ^= 1
            }
        }
        let rig = Rig(disk)
        let journal = try rig.open()
        defer { journal.stop() }
        let end = journal.durableEnd
        try append(journal, [event(1)])
        #expect(try readAll(journal, from: end).map(\.position) == [end])
        #expect(journal.statistics().gapCount > 0)
    }

    @Test(arguments: [false, true])
    func `segments of another journal are refused`(haveSealOnly: Bool) throws {
        let disk = try twoSegments()
        let other = MemoryDisk()
        let journal = try Journal.open(
            directory: "/journal", options: Rig.small, disk: other, clock: SystemClock(),
            telemetry: Rig(other).telemetry,
            generator: Rig.Generator(state: 8))
        journal.stop()
        let manifest = try #require(other.contents("/journal/manifest"))
        disk.change("/journal/manifest") { $0 = manifest }
        if haveSealOnly { for path in segments(disk) { disk.change(path) { $0[20] ^= 1 } } }
        #expect {
            try Rig(disk).open(start: false)
        } throws: {
            ($0 as? JournalError)?.code == .inconsistent && "\($0)".contains("restore the manifest")
        }
    }

    /// The name gives the end of the segment before.
    @Test func `a torn segment that cannot be copied keeps its name`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.cursorInterval = .seconds(1000)
        do {
            let journal = try rig.open(options, start: false)
            let steps = journal.startStepped()
            for number in 0..<30 {
                #expect(offer(journal, [event(number, size: 3000)]) == .queued(end: UInt64(number) + 1))
                steps.keep()
                steps.write()
            }
        }
        let names = rig.segmentNames
        try #require(names.count == 2)
        disk.change("/journal/" + names[1]) { bytes in
            for index in bytes.indices { bytes[index] = index < 100 ? 0xFF : 0 }
        }
        disk.fail("pwrite", "/quarantine/", code: ENOSPC)
        let end = try rig.open(options, start: false).durableEnd
        #expect(rig.segmentNames == names)
        let journal = try rig.open(options)
        defer { journal.stop() }
        #expect(journal.durableEnd == end)
        try append(journal, [event(100)])
        #expect(try readAll(journal).map(\.position) == Array(0...end))
        #expect(journal.statistics().gaps == [])
    }

    @Test func `a reader moves from a missing segment on to a torn one`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.cursorInterval = .seconds(1000)
        do {
            let journal = try rig.open(options, start: false)
            let steps = journal.startStepped()
            for number in 0..<22 {
                #expect(offer(journal, [event(number, size: 3000)]) == .queued(end: UInt64(number) + 1))
                steps.keep()
                steps.write()
                if number == 20 { try journal.commit() }
            }
        }
        let names = rig.segmentNames
        try #require(names == ["00000000000000000000.seg", "00000000000000000021.seg"])
        try disk.remove("/journal/" + names[0])
        disk.change("/journal/" + names[1]) { bytes in
            for index in bytes.indices { bytes[index] = index < 100 ? 0xFF : 0 }
        }
        let journal = try rig.open(options)
        defer { journal.stop() }
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        for _ in 0..<2 { #expect(try reader.read(into: &batch, maximumBytes: 1000) == false) }
        #expect(batch.next == 21)
        try append(journal, [event(100)])
        #expect(try reader.read(into: &batch, maximumBytes: 1000))
        #expect(batch.events.map(\.position) == [21])
    }

    // MARK: Removing segments

    /// Makes a journal of four segments. Three of them can be removed.
    private func old(_ disk: MemoryDisk, _ body: (Rig, Journal, JournalSteps) throws -> Void) throws {
        let rig = Rig(disk)
        var options = Rig.small
        options.retainTime = .seconds(600)
        let journal = try rig.open(options, start: false)
        let steps = journal.startStepped()
        for number in 0..<70 {
            #expect(offer(journal, [event(number, size: 3000)]) == .queued(end: UInt64(number) + 1))
            steps.keep()
            steps.write()
        }
        try journal.declare(destinations: [("d", 0)])
        journal.advance("d", to: JournalCursor(position: journal.durableEnd))
        try journal.commit()
        try #require(rig.segmentNames.count == 4)
        rig.clock.advance(.seconds(700))
        try body(rig, journal, steps)
        journal.stop()
        let again = try Rig(disk.survivor()).open(options, start: false)
        #expect(again.statistics().gaps == [])
    }

    @Test func `a segment that cannot be removed does not keep later segments`() throws {
        let disk = MemoryDisk()
        try old(disk) { rig, journal, steps in
            let names = rig.segmentNames
            disk.fail("unlink", names[0], code: EIO)
            steps.keep()
            steps.keep()
            #expect(rig.segmentNames == [names[3]])
        }
    }

    @Test func `a removal is durable before the next one starts`() throws {
        let disk = MemoryDisk()
        try old(disk) { rig, journal, steps in
            let names = rig.segmentNames
            disk.fail("fsync", "/journal", code: EIO, times: 3)
            for _ in 0..<3 {
                steps.keep()
                #expect(rig.segmentNames == Array(names.dropFirst()))
            }
            steps.keep()
            #expect(rig.segmentNames == [names[3]])
            // A power cut restores only the last removed segment.
            #expect(Rig(disk.survivor()).segmentNames == Array(names.suffix(2)))
        }
    }
}
