import Events
import Foundation
import Journal
import Platform
import Testing

/// Lanes: where sources read on, stored with their events.
@Suite struct LaneTests {
    private func lane(_ name: String, _ position: Int) -> LanePosition {
        LanePosition(lane: name, position: Array("\(position)".utf8))
    }

    /// Zeros a large part of an event, as if that part of a write had not reached the disk.
    private func lose(_ number: Int, in rig: Rig) throws {
        let path = rig.path(rig.segmentNames[0])
        var bytes = try rig.bytes(path)
        let start = try #require(bytes.firstRange(of: Array("\"n\":\"\(number)---".utf8))?.lowerBound)
        bytes.replaceSubrange(start..<start + 2000, with: [UInt8](repeating: 0, count: 2000))
        try rig.overwrite(path, bytes)
    }

    private func lanes(_ rig: Rig) throws -> [LanePosition] {
        let journal = try rig.open()
        defer { journal.stop() }
        return journal.lanes(of: "app")
    }

    @Test func `a position is there with its events after a kill`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, [event(0), event(1)], lane: lane("a", 2))
        try append(journal, [event(2)], lane: lane("b", 7))
        try append(journal, [event(3)], lane: lane("a", 3))
        try append(journal, [event(4)])
        #expect(journal.lanes(of: "app") == [lane("a", 3), lane("b", 7)])
        #expect(journal.lanes(of: "other") == [])
        let after = try rig.killed(journal)
        let next = try after.open()
        defer { next.stop() }
        #expect(next.lanes(of: "app") == [lane("a", 3), lane("b", 7)])
        #expect(try readAll(next).map(\.json) == (0..<5).map { event($0) })
    }

    @Test func `the last segment knows all lanes, also those that were written long before`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, [event(0)], lane: lane("early", 1))
        try append(
            journal, [event(1)], from: Origin(source: "other", uid: 1, gid: 1, pid: 1), lane: lane("early", 9))
        for number in 2..<400 { try append(journal, [event(number, size: 1000)], lane: lane("late", number)) }
        let after = try rig.killed(journal)
        #expect(after.segmentNames.count > 4)
        for name in after.segmentNames.dropLast() { try after.disk.remove(after.path(name)) }
        let next = try after.open()
        defer { next.stop() }
        #expect(next.lanes(of: "app") == [lane("early", 1), lane("late", 399)])
        #expect(next.lanes(of: "other") == [lane("early", 9)])
    }

    @Test(arguments: [1, 2])
    func `lanes are read from earlier segments if the beginning of the last one is lost`(count: Int) throws {
        let rig = try Rig()
        let journal = try rig.open()
        var number = 0
        while rig.segmentNames.count < 4 {
            try append(journal, [event(number, size: 1000)], lane: lane("\(number % 5)", number))
            number += 1
        }
        let after = try rig.killed(journal)
        // As a power cut leaves it if nothing of the first commit has arrived.
        let last = after.segmentNames.suffix(count)
        for name in last { try after.overwrite(after.path(name), [UInt8](repeating: 0, count: 64 << 10)) }
        let end = try #require(UInt64(last[last.startIndex].prefix(20)))
        let expected = (end - 5..<end).map { lane("\($0 % 5)", Int($0)) }.sorted { $0.lane < $1.lane }
        #expect(try lanes(after) == expected)
    }

    @Test func `a lane without a position is forgotten`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, [event(0)], lane: lane("a", 1))
        try append(journal, [event(1)], lane: LanePosition(lane: "a", position: []))
        #expect(journal.lanes(of: "app") == [])
        let after = try rig.killed(journal)
        #expect(try lanes(after) == [])
        let next = try after.open()
        try append(next, [event(2)], lane: lane("a", 5))
        #expect(try lanes(try after.killed(next)) == [lane("a", 5)])
    }

    @Test func `a position moves without an event`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, [event(0)], lane: lane("a", 1))
        #expect(offer(journal, [], lane: lane("a", 50)) == .queued(end: 1))
        try eventually { journal.lanes(of: "app") == [lane("a", 50)] }
        try append(journal, [event(1)], lane: lane("a", 51))
        #expect(offer(journal, [], lane: lane("a", 60)) == .queued(end: 2))
        try eventually { journal.lanes(of: "app") == [lane("a", 60)] }
        let after = try rig.killed(journal)
        let next = try after.open()
        defer { next.stop() }
        #expect(next.lanes(of: "app") == [lane("a", 60)])
        #expect(try readAll(next).map(\.position) == [0, 1])
    }

    /// Three batches of two lanes in one commit, of which the middle one, of lane "a", has not arrived.
    @Test(arguments: [false, true])
    func `a position does not count if the lane's events before it are missing`(isDamage: Bool) throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        #expect(offer(journal, [event(0)], lane: lane("a", 1)) == .queued(end: 1))
        #expect(offer(journal, [event(1, size: 3000)], lane: lane("a", 2)) == .queued(end: 2))
        #expect(offer(journal, [event(2)], lane: lane("a", 3)) == .queued(end: 3))
        #expect(offer(journal, [event(3)], lane: lane("b", 4)) == .queued(end: 4))
        journal.start()
        try eventually { journal.durableEnd == 4 }
        // A later commit says that the first one was durable: then the missing bytes are damage.
        if isDamage { try append(journal, [event(4)]) }
        let after = try rig.killed(journal)
        try lose(1, in: after)
        let next = try after.open()
        #expect(next.lanes(of: "app") == [lane("a", isDamage ? 3 : 1), lane("b", 4)])
        // The lane goes on from there, whatever lies in the files.
        try append(next, [event(5)], lane: lane("a", 6))
        #expect(try lanes(try after.killed(next)) == [lane("a", 6), lane("b", 4)])
    }

    @Test func `positions of a lane that do not count stay out, whatever is written later`() throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        #expect(offer(journal, [event(0)], lane: lane("a", 1)) == .queued(end: 1))
        #expect(offer(journal, [event(1, size: 3000)], lane: lane("a", 2)) == .queued(end: 2))
        #expect(offer(journal, [event(2)], lane: lane("a", 3)) == .queued(end: 3))
        journal.start()
        try eventually { journal.durableEnd == 3 }
        let after = try rig.killed(journal)
        try lose(1, in: after)
        let second = try after.open()
        try append(second, [event(9)], lane: lane("b", 9))
        let third = try after.killed(second)
        #expect(try lanes(third) == [lane("a", 1), lane("b", 9)])
        #expect(try lanes(third) == [lane("a", 1), lane("b", 9)])
    }

    /// The power fails during the sync of a segment's last commit and its seal, and the seal arrives without an event
    /// before it. It fails again when the next segment has its name and nothing in it.
    @Test func `a seal does not make the events before it durable`() throws {
        var options = Rig.small
        // The cursors record what was durable, too.
        options.cursorInterval = .seconds(3600)
        let rig = try Rig()
        let journal = try rig.open(options, start: false)
        #expect(offer(journal, [event(0)], lane: lane("a", 1)) == .queued(end: 1))
        #expect(offer(journal, [event(1, size: 3000)], lane: lane("a", 2)) == .queued(end: 2))
        #expect(offer(journal, [event(2)], lane: lane("a", 3)) == .queued(end: 3))
        for number in 3..<5 { _ = offer(journal, [event(number, size: 50_000)]) }
        journal.start()
        try eventually { journal.durableEnd == 5 && rig.segmentNames.count == 2 }
        let after = try rig.killed(journal)
        try after.disk.remove(after.path(after.segmentNames[1]))
        try lose(1, in: after)
        let second = try after.open(options)
        #expect(second.lanes(of: "app") == [lane("a", 1)])
        let end = second.durableEnd
        #expect(end == 4)
        try eventually { (try? after.disk.status(after.path("spare"))) != .some(nil) }
        let third = try after.killed(second)
        let name = String(repeating: "0", count: 19) + "\(end).seg"
        try third.disk.rename(third.path("spare"), to: third.path(name))
        #expect(try lanes(third) == [lane("a", 1)])
        #expect(try lanes(third) == [lane("a", 1)])
    }

    @Test func `lanes whose names are equal to a String are two lanes`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        let (one, two) = ("caf\u{E9}", "cafe\u{301}")
        #expect(one == two)
        try append(journal, [event(0)], lane: LanePosition(lane: one, position: [1]))
        try append(journal, [event(1)], lane: LanePosition(lane: two, position: [2]))
        try append(journal, [event(2)], lane: LanePosition(lane: one, position: [3]))
        for number in 3..<100 { try append(journal, [event(number, size: 1000)]) }
        let after = try rig.killed(journal)
        #expect(after.segmentNames.count > 1)
        #expect(
            Set(try lanes(after).map { Array($0.lane.utf8) + $0.position }) == [
                Array(one.utf8) + [3], Array(two.utf8) + [2],
            ])
    }

    @Test func `segments that are too small for the lanes are refused, and nothing is lost`() throws {
        let rig = try Rig()
        var options = Rig.small
        options.segmentSize = 1 << 20
        let journal = try rig.open(options)
        for number in 0..<200 {
            try append(
                journal, [event(number)],
                lane: LanePosition(lane: "lane \(number)", position: Array(repeating: 7, count: 64)))
        }
        let after = try rig.killed(journal)
        #expect {
            try after.open(start: false)
        } throws: {
            ($0 as? JournalError)?.code == .invalidOptions && "\($0)".contains("journal.segment_size is too small")
        }
        let next = try after.open(options)
        defer { next.stop() }
        #expect(next.lanes(of: "app").count == 200)
    }

    /// Of one commit the first batch is missing, and the lane is forgotten between it and the third.
    @Test func `a lane that was forgotten after a missing event does not pass it`() throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        #expect(offer(journal, [event(0, size: 3000)], lane: lane("a", 1)) == .queued(end: 1))
        #expect(offer(journal, [], lane: LanePosition(lane: "a", position: [])) == .queued(end: 1))
        #expect(offer(journal, [event(2)], lane: lane("a", 2)) == .queued(end: 2))
        journal.start()
        try eventually { journal.durableEnd == 2 }
        let after = try rig.killed(journal)
        try lose(0, in: after)
        #expect(try lanes(after) == [])
    }

    @Test func `names and positions have limits`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let longest = LanePosition(
            lane: String(repeating: "n", count: 64), position: [UInt8](repeating: 255, count: 64))
        try append(journal, [event(0)], lane: longest)
        #expect(journal.lanes(of: "app") == [longest])
        for bad in [
            LanePosition(lane: "", position: [1]), LanePosition(lane: longest.lane + "n", position: [1]),
            LanePosition(lane: "n", position: longest.position + [1]),
        ] {
            guard case .refused(let refusal) = offer(journal, [event(1)], lane: bad) else {
                Issue.record("\(bad) was accepted")
                continue
            }
            #expect(refusal.reason == .tooLarge)
        }
    }

    @Test func `the number of lanes is bounded by what a segment can begin with`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        var stored = 0
        while case .queued(let end) = offer(
            journal, [event(stored)], lane: LanePosition(lane: "lane \(stored)", position: [1]))
        {
            try eventually { journal.durableEnd >= end }
            stored += 1
            try #require(stored < 1000)
        }
        // A quarter of an eighth of a segment of 64 KiB. Another source still has room.
        #expect(stored > 15)
        let other = Origin(source: "other", uid: 1, gid: 1, pid: 1)
        try append(journal, [event(stored)], from: other, lane: LanePosition(lane: "lane", position: [1]))
        // A longer position of a known lane is always stored.
        try append(
            journal, [event(stored)], lane: LanePosition(lane: "lane 2", position: [UInt8](repeating: 1, count: 64)))
        // A known lane moves, and after one is forgotten, another one fits.
        try append(journal, [event(stored)], lane: LanePosition(lane: "lane 0", position: [2]))
        try append(journal, [event(stored)], lane: LanePosition(lane: "lane 1", position: []))
        try append(journal, [event(stored)], lane: LanePosition(lane: "other", position: [1]))
        for number in 0..<100 { try append(journal, [event(number, size: 2000)]) }
        #expect(try lanes(try rig.killed(journal)).count == stored)
    }

    @Test func `the events of an append are in one batch, or refused`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        // A batch of an application holds at most 8 KiB in segments of this size.
        try append(journal, (0..<36).map { event($0, size: 1000) }, lane: lane("a", 36))
        #expect(try readAll(journal).count == 36)
        guard
            case .refused(let refusal) = offer(
                journal, (0..<60).map { event($0, size: 1000) }, lane: lane("a", 100))
        else {
            Issue.record("an append that does not fit into a segment was accepted")
            return
        }
        #expect(refusal.reason == .tooLarge)
        #expect(journal.lanes(of: "app") == [lane("a", 36)])
    }
}
