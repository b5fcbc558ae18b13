import Foundation
import Journal
import Platform
import Testing

/// The cursor of a destination that keeps no state, after each of its batches.
@Suite struct LiveCursorTests {
    /// Cursors are committed once an hour: what is found after a kill was not in `cursors`.
    private static var options: JournalOptions {
        var options = Rig.small
        options.cursorInterval = .seconds(3600)
        return options
    }

    /// A journal with ten events and one destination at the beginning.
    private func begin(_ rig: Rig, _ options: JournalOptions = options) throws -> Journal {
        let journal = try rig.open(options)
        try append(journal, (0..<10).map { event($0) })
        try journal.declare(destinations: [("service", 0)])
        return journal
    }

    /// What a kill leaves: the files as they are, without the end that `stop` makes.
    private func killed(_ rig: Rig, _ journal: Journal) throws -> Rig {
        let after = try Rig()
        for name in try rig.disk.list(rig.directory) where name != "lock" {
            try FileManager.default.copyItem(atPath: rig.path(name), toPath: after.path(name))
        }
        journal.stop()
        return after
    }

    @Test func aKillTakesNothingBackThatWasSettled() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4, settled: [5..<6, 8..<10]))
        let after = try killed(rig, journal)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service") == JournalCursor(position: 4))
        #expect(next.live(of: "service", .delivery, tag: 0)?.settled == [5..<6, 8..<10])
    }

    @Test(arguments: [1, 4, 5, 9]) func aKillTakesNothingBackHoweverManyDestinationsThereAre(count: Int) throws {
        let rig = try Rig()
        let names = (0..<count).map { "service\($0)" }
        let journal = try rig.open(Self.options)
        try append(journal, (0..<20).map { event($0) })
        try journal.declare(destinations: names.map { ($0, 0) })
        for (number, name) in names.enumerated() {
            journal.settle(name, LiveCursor(.delivery, position: UInt64(number + 1), settled: [UInt64(number + 2)..<UInt64(number + 4)]))
        }
        // A second life makes a file of what it found.
        let second = try killed(rig, journal)
        let next = try second.open(Self.options)
        #expect(names.map { next.cursor(of: $0)?.position } == (0..<count).map { UInt64($0 + 1) })
        next.settle(names[count - 1], LiveCursor(.delivery, position: 15))
        let last = try killed(second, next).open(Self.options)
        defer { last.stop() }
        #expect(last.cursor(of: names[count - 1])?.position == 15)
    }

    @Test func withoutTheFileTheCursorIsTheOneOfTheLastCommitOfEvents() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4, settled: [5..<6]))
        // Cursors ride along only while the next segment is ready, so that they take no room of events.
        try eventually("the next segment is there") { try rig.disk.list(rig.directory).contains("spare") }
        for number in 10..<40 { try append(journal, [event(number)]) }
        journal.settle("service", LiveCursor(.delivery, position: 9))
        let after = try killed(rig, journal)
        try after.disk.remove(after.path("cursors.live"))
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service") == JournalCursor(position: 4))
        #expect(next.live(of: "service", .delivery, tag: 0)?.settled == [5..<6])
        #expect(try readAll(next).map(\.position) == Array(0..<40))
    }

    @Test func nothingIsWrittenToSegmentsWithoutEvents() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        defer { journal.stop() }
        try append(journal, [event(10)])
        let before = try rig.bytes(rig.path(rig.segmentNames[0]))
        for position in 1...10 as ClosedRange<UInt64> { journal.settle("service", LiveCursor(.delivery, position: position)) }
        try journal.commit()
        #expect(try rig.bytes(rig.path(rig.segmentNames[0])) == before)
        #expect(journal.durableEnd == 11)
    }

    @Test func aSlotWithAnotherChecksumIsNotBelieved() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let after = try killed(rig, journal)
        // The position's first byte.
        try after.overwrite(after.path("cursors.live"), [9], at: 40)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service")?.position == 0)
    }

    @Test func aSlotOfAnotherJournalIsNotBelieved() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let slots = try rig.bytes(rig.path("cursors.live"))
        journal.stop()
        let other = try Rig()
        let generator = Rig.Generator(state: 8)
        let first = try Journal.open(
            directory: other.directory, options: Self.options, disk: other.disk, clock: other.clock, telemetry: other.telemetry,
            generator: generator)
        first.start()
        try append(first, (0..<10).map { event($0) })
        try first.declare(destinations: [("service", 0)])
        first.stop()
        try other.disk.open(other.path("cursors.live"), .createOrReadWrite).write(slots.span, at: 0)
        let next = try other.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service")?.position == 0)
    }

    @Test func aSlotAboveTheEndIsNotBelievedNowNorLater() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.delivery, position: 9))
        // A power cut that took the events and left the slot.
        let after = try Rig()
        for name in ["manifest", "cursors", "cursors.live"] {
            try FileManager.default.copyItem(atPath: rig.path(name), toPath: after.path(name))
        }
        journal.stop()
        let empty = [UInt8](repeating: 0, count: 64 << 10)
        try after.disk.open(after.path("00000000000000000000.seg"), .createNew).write(empty.span, at: 0)
        // The cursors say nothing of the events either.
        try after.disk.remove(after.path("cursors"))
        let next = try after.open(Self.options)
        try next.declare(destinations: [("service", 0)])
        #expect(next.cursor(of: "service")?.position == 0)
        try append(next, (0..<10).map { event($0) })
        let later = try killed(after, next)
        let last = try later.open(Self.options)
        defer { last.stop() }
        #expect(last.cursor(of: "service")?.position == 0)
    }

    @Test func aSlotAboveTheEndCountsUpToTheEnd() throws {
        let rig = try Rig()
        let journal = try rig.open(Self.options)
        for number in 0..<10 { try append(journal, [event(number)]) }
        try journal.declare(destinations: [("service", 0)])
        journal.settle("service", LiveCursor(.delivery, position: 8, settled: [9..<10]))
        let after = try killed(rig, journal)
        // The disk has lost the last events, and what was known of the end.
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

    @Test func aDestinationThatKeepsAStateDoesNotFollowASlot() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.advance("service", to: JournalCursor(position: 2, state: [7]))
        try journal.commit()
        let states = try rig.bytes(rig.path("cursors"))
        journal.settle("service", LiveCursor(.delivery, position: 4))
        let after = try killed(rig, journal)
        try after.overwrite(after.path("cursors"), states)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.cursor(of: "service") == JournalCursor(position: 2, state: [7]))
    }

    @Test func aReplaysSlotSaysNothingOfTheNextReplay() throws {
        let rig = try Rig()
        let journal = try begin(rig)
        journal.settle("service", LiveCursor(.replay, tag: 77, position: 6))
        let after = try killed(rig, journal)
        let next = try after.open(Self.options)
        defer { next.stop() }
        #expect(next.live(of: "service", .replay, tag: 77)?.position == 6)
        #expect(next.live(of: "service", .replay, tag: 78) == nil)
        #expect(next.cursor(of: "service")?.position == 0)
    }

    @Test func aSegmentStaysUntilTheCursorFileIsDurable() throws {
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
        try eventually("the segments go") { journal.firstPosition > 0 }
        journal.stop()
    }
}
