import Events
import Foundation
import Journal
import Platform
import Testing

/// Marks: how far a lane has brought in the events of each origin, stored with its events.
@Suite struct MarkTests {
    private func origin(_ number: Int) -> OriginID { OriginID(high: 7, low: UInt64(number)) }

    private func lane(_ position: Int, _ edge: Int, _ place: UInt64, part: UInt32 = 0, name: String = "a")
        -> LanePosition
    {
        LanePosition(
            lane: name, position: Array("\(position)".utf8),
            mark: OriginMark(origin: origin(edge), place: OriginPlace(position: place, part: part)))
    }

    private func mark(_ journal: Journal, _ edge: Int, lane: String = "a") -> OriginPlace? {
        journal.mark(of: "app", lane: lane, origin(edge))
    }

    @Test func `a mark is there with its events after a kill, for each lane and origin`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, [event(0)], lane: lane(1, 1, 10))
        try append(journal, [event(1)], lane: lane(2, 2, .max, part: .max))
        try append(journal, [event(2)], lane: lane(3, 1, 11, part: 3))
        try append(journal, [event(3)], lane: lane(1, 1, 5, name: "b"))
        // It never goes back.
        try append(journal, [event(4)], lane: lane(4, 1, 4))
        try append(journal, [event(5)], lane: LanePosition(lane: "a", position: [1]))
        let after = try rig.killed(journal)
        let next = try after.open()
        defer { next.stop() }
        for journal in [journal, next] {
            #expect(mark(journal, 1) == OriginPlace(position: 11, part: 3))
            #expect(mark(journal, 2) == OriginPlace(position: .max, part: .max))
            #expect(mark(journal, 1, lane: "b") == OriginPlace(position: 5, part: 0))
            #expect(mark(journal, 3) == nil && mark(journal, 2, lane: "b") == nil)
            #expect(journal.mark(of: "other", lane: "a", origin(1)) == nil)
        }
        #expect(next.lanes(of: "app").map(\.lane) == ["a", "b"])
        #expect(try readAll(next).map(\.json) == (0..<6).map { event($0) })
    }

    @Test func `the last segment knows all marks, also those of lanes that were forgotten`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        for edge in 0..<20 { try append(journal, [event(edge)], lane: lane(1, edge, UInt64(edge + 100))) }
        try append(journal, [event(20)], lane: LanePosition(lane: "a", position: []))
        for number in 21..<400 { try append(journal, [event(number, size: 1000)]) }
        let after = try rig.killed(journal)
        #expect(after.segmentNames.count > 4)
        for name in after.segmentNames.dropLast() { try after.disk.remove(after.path(name)) }
        let next = try after.open()
        defer { next.stop() }
        #expect(next.lanes(of: "app") == [])
        for edge in 0..<20 { #expect(mark(next, edge) == OriginPlace(position: UInt64(edge + 100), part: 0)) }
    }

    /// The last segment begins with a batch of lanes and one of marks. A power cut can take either of them.
    @Test(arguments: [true, false])
    func `marks are read from earlier segments if the beginning of the last one is not whole`(
        losesLanes: Bool
    ) throws {
        let rig = try Rig()
        let journal = try rig.open()
        var number = 0
        while rig.segmentNames.count < 4 {
            try append(journal, [event(number, size: 1000)], lane: lane(number, number % 5, UInt64(number)))
            number += 1
        }
        let after = try rig.killed(journal)
        let last = try #require(after.segmentNames.last)
        var bytes = try after.bytes(after.path(last))
        // Behind the batch of lanes, of one lane, lies the batch of marks.
        let second = try #require(bytes.dropFirst(8).firstRange(of: [0x50, 0x4E, 0x53, 0x42]))
        let start = losesLanes ? 0 : second.lowerBound
        // The events behind it were not acknowledged in such a power cut.
        bytes.replaceSubrange(start..<bytes.count, with: [UInt8](repeating: 0, count: bytes.count - start))
        try after.overwrite(after.path(last), bytes)
        let end = try #require(UInt64(last.prefix(20)))
        let opened = try after.open()
        defer { opened.stop() }
        for place in end - 5..<end { #expect(mark(opened, Int(place % 5))?.position == place) }
    }

    /// Three batches in one commit, of which the middle one has not arrived: its events come again, and so do the later
    /// ones, which its mark must not keep out.
    @Test func `a mark does not count if the lane's events before it are missing`() throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        #expect(offer(journal, [event(0)], lane: lane(1, 1, 10)) == .queued(end: 1))
        #expect(offer(journal, [event(1, size: 3000)], lane: lane(2, 1, 20)) == .queued(end: 2))
        #expect(offer(journal, [event(2)], lane: lane(3, 1, 30)) == .queued(end: 3))
        #expect(offer(journal, [event(3)], lane: lane(4, 2, 40)) == .queued(end: 4))
        journal.start()
        try eventually { journal.durableEnd == 4 }
        let after = try rig.killed(journal)
        try lose(1, in: after)
        let next = try after.open()
        defer { next.stop() }
        #expect(mark(next, 1)?.position == 10)
        #expect(mark(next, 2) == nil)
        #expect(next.lanes(of: "app").map(\.position) == [Array("1".utf8)])
    }

    private func lose(_ number: Int, in rig: Rig) throws {
        let path = rig.path(rig.segmentNames[0])
        var bytes = try rig.bytes(path)
        let start = try #require(bytes.firstRange(of: Array("\"n\":\"\(number)---".utf8))?.lowerBound)
        bytes.replaceSubrange(start..<start + 2000, with: [UInt8](repeating: 0, count: 2000))
        try rig.overwrite(path, bytes)
    }

    @Test func `the number of marks is bounded, and the ones that were not used for the longest time go`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        // A sixteenth of a segment of 64 KiB has room for 101 marks.
        for edge in 0..<1000 { try append(journal, [event(edge)], lane: lane(edge, edge, 1)) }
        // Used again and again.
        for round in 0..<3 {
            for edge in 0..<70 {
                try append(journal, [], lane: lane(1, 0, UInt64(2 + round)))
                try append(journal, [event(edge)], lane: lane(edge, 2000 + round * 70 + edge, 1))
                try append(journal, [event(edge)], lane: lane(edge, 0, UInt64(round * 1000 + edge)))
            }
        }
        let after = try rig.killed(journal)
        let next = try after.open()
        defer { next.stop() }
        for journal in [journal, next] {
            #expect(mark(journal, 0)?.position == 2069)
            #expect(mark(journal, 999) == nil)
            #expect(mark(journal, 2209)?.position == 1)
        }
        // What it writes at the beginning of a segment has room.
        for number in 0..<100 { try append(next, [event(number, size: 2000)]) }
        #expect(mark(next, 2209)?.position == 1)
    }

    /// Events that the aggregator refuses move the marks alone.
    @Test func `marks without events do not grow without bound`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try append(journal, [event(0)], lane: lane(1, 0, 1))
        for edge in 1..<2000 {
            #expect(offer(journal, [], lane: lane(1, edge, 1)) == .queued(end: 1))
            if edge % 100 == 0 { try eventually { mark(journal, edge) != nil } }
        }
        for number in 0..<100 { try append(journal, [event(number, size: 2000)]) }
        let next = try rig.killed(journal).open()
        defer { next.stop() }
        #expect(mark(next, 1999)?.position == 1)
    }
}
