import Foundation
import Glibc
@testable import Journal
import Platform
import Testing

/// Live cursors: the cursor of a destination without a state, written after each of its batches.
@Suite struct LiveCursorTests {
    /// Cursors are committed once an hour, so a cursor that is found after a kill did not come from `cursors`.
    private static var options: JournalOptions {
        var options = Rig.small
        options.cursorInterval = .seconds(3600)
        return options
    }

    /// Opens a journal with ten events and one destination at position 0.
    private func begin(_ rig: Rig, _ options: JournalOptions = options) throws -> Journal {
        let journal = try rig.open(options)
        try append(journal, (0..<10).map { event($0) })
        try journal.declare(destinations: [("service", 0)])
        return journal
    }

    @Test func `the commit after one with cursors needs no move`() throws {
        let rig = try Rig()
        let journal = try rig.open(Self.options, start: false)
        let steps = journal.startStepped()
        defer { journal.stop() }
        try journal.declare(destinations: [("service", 0)])
        while journal.segments.last == nil {
            _ = offer(journal, [event(0)])
            steps.keep()
            steps.write()
        }
        // Cursors are added only while there is a next segment.
        steps.keep()
        journal.settle("service", LiveCursor(.delivery, position: 1))
        _ = offer(journal, [event(1)])
        let before = try #require(journal.segments.last).readableBytes
        steps.write()
        let offset = try #require(journal.segments.last).readableBytes
        _ = offer(journal, [event(2)])
        let next = try #require(journal.queue.take())
        #expect(offset - before > next.count, "the commit before has cursors besides an event")
        let block = AlignedMemory.alignment
        #expect(next.canLendBlocks(0..<next.count, behind: offset % block, block: block))
    }

    @Test func `settled events stay settled after a kill`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4, settled: [5..<6, 8..<10]))
        let after = try rig.killed(journal)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service") == JournalCursor(position: 4))
        #expect(next.live(of: "service", .delivery, tag: 0)?.settled == [5..<6, 8..<10])
    }

    @Test(arguments: [1, 4, 5, 9])
    func `settled events of any number of destinations stay settled after a kill`(count: Int) throws {
        let rig = try Rig()
        let names = (0..<count).map { "service\($0)" }
        let journal = try rig.open(Self.options)
        try append(journal, (0..<20).map { event($0) })
        try journal.declare(destinations: names.map { ($0, 0) })
        for (number, name) in names.enumerated() {
            journal.settle(
                name,
                LiveCursor(.delivery, position: UInt64(number + 1), settled: [UInt64(number + 2)..<UInt64(number + 4)]))
        }
        // A second start writes a new file with the cursors that it found.
        let second = try rig.killed(journal)
        let next = try second.open(Self.options)
        #expect(names.map { next.cursor(of: $0)?.position } == (0..<count).map { UInt64($0 + 1) })
        next.settle(names[count - 1], LiveCursor(.delivery, position: 15))
        let last = try second.killed(next).open(Self.options)
        defer { last.stop() }
        #expect(last.cursor(of: names[count - 1])?.position == 15)
    }

    @Test func `without the file of live cursors, the cursors come from the last commit of events`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4, settled: [5..<6]))
        // Cursors are written with events only while the next segment is ready, so that they take no space
        // from events.
        try eventually("the next segment is ready") { try rig.disk.list(rig.directory).contains("spare") }
        for number in 10..<40 { try append(journal, [event(number)]) }
        journal.settle("service", LiveCursor(.delivery, position: 9))
        let after = try rig.killed(journal)
        try after.disk.remove(after.path("cursors.live.1"))
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service") == JournalCursor(position: 4))
        #expect(next.live(of: "service", .delivery, tag: 0)?.settled == [5..<6])
        #expect(try readAll(next).map(\.position) == Array(0..<40))
    }

    @Test func `live cursors alone write nothing to a segment`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        defer { journal.stop() }
        try append(journal, [event(10)])
        let before = try rig.bytes(rig.path(rig.segmentNames[0]))
        for position in 1...10 as ClosedRange<UInt64> {
            journal.settle("service", LiveCursor(.delivery, position: position))
        }
        try journal.commit()
        #expect(try rig.bytes(rig.path(rig.segmentNames[0])) == before)
        #expect(journal.durableEnd == 11)
    }

    @Test func `a slot with a wrong checksum is ignored`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let after = try rig.killed(journal)
        // The position's first byte.
        try after.overwrite(after.path("cursors.live.1"), [9], at: 40)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service")?.position == 0)
    }

    @Test func `a slot of another journal is ignored`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let slots = try rig.bytes(rig.path("cursors.live.1"))
        journal.stop()
        let other = try Rig()
        let generator = Rig.Generator(state: 8)
        let first = try Journal.open(
            directory: other.directory, options: Self.options, disk: other.disk, clock: other.clock,
            telemetry: other.telemetry,
            generator: generator)
        first.start()
        try append(first, (0..<10).map { event($0) })
        try first.declare(destinations: [("service", 0)])
        first.stop()
        try other.disk.open(other.path("cursors.live.1"), .createOrReadWrite).write(slots.span, at: 0)
        let next = try other.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service")?.position == 0)
    }

    @Test func `a slot above the end is ignored, also after later events pass it`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 9))
        // A power cut loses the events and keeps the slot.
        let after = try Rig()
        for name in ["manifest", "cursors", "cursors.live.1"] {
            try FileManager.default.copyItem(atPath: rig.path(name), toPath: after.path(name))
        }
        journal.stop()
        let empty = [UInt8](repeating: 0, count: 64 << 10)
        try after.disk.open(after.path("00000000000000000000.seg"), .createNew).write(empty.span, at: 0)
        // The cursor file does not contain the end of the lost events either.
        try after.disk.remove(after.path("cursors"))
        let next = try after.open(Self.options)
        try next.declare(destinations: [("service", 0)])
        #expect(next.cursor(of: "service")?.position == 0)
        try append(next, (0..<10).map { event($0) })
        let later = try after.killed(next)
        let last = try later.open(Self.options)
        defer { last.stop() }
        #expect(last.cursor(of: "service")?.position == 0)
    }

    @Test func `a slot of an earlier start is ignored if the disk shows it again`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 9))
        let slot = try rig.bytes(rig.path("cursors.live.1"))
        let after = try rig.killed(journal)
        let next = try after.open(Self.options)
        #expect(try after.liveFiles == ["cursors.live.2"])
        let later = try after.killed(next)
        try later.overwrite(later.path("cursors.live.2"), slot)
        let last = try later.open(Self.options)
        defer { last.stop() }
        #expect(last.cursor(of: "service")?.position == 0)
        #expect(try later.liveFiles == ["cursors.live.3"])
    }

    @Test func `of two files of live cursors, the one with the higher number counts`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let old = try rig.bytes(rig.path("cursors.live.1"))
        let second = try rig.killed(journal)
        let next = try second.open(Self.options)
        next.settle("service", LiveCursor(.delivery, position: 6))
        let third = try second.killed(next)
        // A power cut can bring back a file that was removed.
        try third.disk.open(third.path("cursors.live.1"), .createNew).write(old.span, at: 0)
        let last = try third.open(Self.options)
        defer { last.stop() }
        #expect(last.cursor(of: "service")?.position == 6)
        #expect(try third.liveFiles == ["cursors.live.3"])
    }

    @Test(arguments: ["cursors.live.0", "cursors.live.01", "cursors.live.18446744073709551615", "cursors.live.x"])
    func `a file whose name has no valid number is left alone`(name: String) throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let after = try rig.killed(journal)
        try after.disk.rename(after.path("cursors.live.1"), to: after.path(name))
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service")?.position == 0)
        #expect(try after.liveFiles == [name])
    }

    /// A journal on a disk in memory, ten events, a destination, and the process gone without a stop.
    private func abandoned() throws -> MemoryDisk {
        let disk = MemoryDisk()
        let journal = try Rig(disk).open(Self.options)
        try append(journal, (0..<10).map { event($0) })
        try journal.declare(destinations: [("service", 0)])
        journal.stop()
        try Rig(disk).open(Self.options, start: false).settle("service", LiveCursor(.delivery, position: 4))
        return disk
    }

    @Test func `on a full filesystem the file of the last start is used again`() throws {
        let disk = try abandoned()
        disk.fail("pwrite", "/journal/cursors.live.new", code: ENOSPC, times: 10)
        for number in 2...3 {
            let journal = try Rig(disk).open(Self.options, start: false)
            #expect(journal.cursor(of: "service")?.position == 4)
            #expect(try Rig(disk).liveFiles == ["cursors.live.\(number)", "cursors.live.new"])
        }
    }

    @Test func `the live cursors of an earlier start are off the disk when a journal is open`() throws {
        let disk = try abandoned()
        #expect(try Rig(disk.survivor()).liveFiles == [])
        try disk.syncDirectory("/journal")
        #expect(try Rig(disk.survivor()).liveFiles == ["cursors.live.1"])
        _ = try Rig(disk).open(Self.options, start: false)
        #expect(try Rig(disk.survivor()).liveFiles == ["cursors.live.2"])
    }

    @Test func `a file of live cursors that cannot be replaced is removed`() throws {
        let disk = try abandoned()
        disk.fail("pwrite", "/journal/cursors.live.new", code: EIO)
        let journal = try Rig(disk).open(Self.options, start: false)
        #expect(journal.cursor(of: "service")?.position == 4)
        // Not written in this life.
        journal.settle("service", LiveCursor(.delivery, position: 5))
        #expect(try Rig(disk).liveFiles == ["cursors.live.new"])
    }

    @Test func `a slot that is partly above the end counts up to the end`() throws {
        let rig = try Rig()
        let journal = try rig.open(Self.options)
        for number in 0..<10 { try append(journal, [event(number)]) }
        try journal.declare(destinations: [("service", 0)])
        journal.settle("service", LiveCursor(.delivery, position: 8, settled: [9..<10]))
        let after = try rig.killed(journal)
        // The disk lost the last events and the recorded end.
        try after.disk.remove(after.path("cursors"))
        let segment = after.path("00000000000000000000.seg")
        var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: segment)))
        let used = (bytes.dropLast(4096).lastIndex { $0 != 0 } ?? 0) + 1
        for index in used * 6 / 10..<used { bytes[index] = 0 }
        try Data(bytes).write(to: URL(fileURLWithPath: segment))
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect((1..<8).contains(next.durableEnd))
        #expect(next.live(of: "service", .delivery, tag: 0) == LiveCursor(.delivery, position: next.durableEnd))
    }

    @Test func `the cursor of a destination with a state does not come from a slot`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.advance("service", to: JournalCursor(position: 2, state: [7]))
        try journal.commit()
        let states = try rig.bytes(rig.path("cursors"))
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let after = try rig.killed(journal)
        try after.overwrite(after.path("cursors"), states)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service") == JournalCursor(position: 2, state: [7]))
    }

    @Test func `the slot of one replay does not apply to the next replay`() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.replay, tag: 77, position: 6))
        let after = try rig.killed(journal)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.live(of: "service", .replay, tag: 77)?.position == 6)
        #expect(next.live(of: "service", .replay, tag: 78) == nil)
        #expect(next.cursor(of: "service")?.position == 0)
    }

    @Test func `a segment is kept until the cursor file is durable`() throws {
        let rig = try Rig()
        var options = Self.options
        options.retainTime = .zero
        let journal = try rig.open(options)
        try journal.declare(destinations: [("service", 0)])
        for number in 0..<200 { try append(journal, [event(number, size: 900)]) }
        rig.clock.advance(.seconds(3600))
        journal.settle("service", LiveCursor(.delivery, position: 200))
        try journal.configure(options)
        try eventually { journal.heartbeat > 0 }
        #expect(journal.firstPosition == 0)
        try journal.commit()
        try journal.configure(options)
        try eventually("the segments are removed") { journal.firstPosition > 0 }
        journal.stop()
    }
}

extension Rig {
    fileprivate var liveFiles: [String] {
        get throws { try disk.list(directory).filter { $0.hasPrefix("cursors.live") }.sorted() }
    }
}
