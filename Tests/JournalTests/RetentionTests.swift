import Events
import Journal
import Platform
import Telemetry
import Testing

@Suite struct RetentionTests {
    private func fill(_ journal: Journal, _ count: Int = 1) throws {
        for number in 0..<count * 125 { try append(journal, [event(number, size: 450)]) }
    }

    private var tight: JournalOptions {
        var options = Rig.small
        options.retainSize = 6 * options.segmentSize
        return options
    }

    @Test func `no segment is removed before the destinations are declared`() throws {
        let rig = try Rig()
        var options = tight
        options.retainTime = .zero
        let journal = try rig.open(options)
        try fill(journal, 3)
        rig.clock.advance(.seconds(3600))
        try journal.commit()
        #expect(journal.firstPosition == 0)
        try journal.declare(destinations: [])
        try eventually { journal.firstPosition > 0 }
        journal.stop()
    }

    @Test func `segments that are settled and older than the retention time are removed`() throws {
        let rig = try Rig()
        var options = Rig.small
        options.retainTime = .seconds(600)
        let journal = try rig.open(options)
        defer { journal.stop() }
        try journal.declare(destinations: [("d", 0)])
        try fill(journal, 3)
        let second = try #require(UInt64(rig.segmentNames[1].prefix(20)))
        rig.clock.advance(.seconds(700))
        journal.advance("d", to: JournalCursor(position: second))
        try eventually { journal.firstPosition == second }
        try eventually { rig.segmentNames.first.flatMap { UInt64($0.prefix(20)) } == second }
        // The other segments are as old but not settled.
        try journal.commit()
        #expect(journal.firstPosition == second)
        #expect(try readAll(journal).first?.position == second)
    }

    @Test func `settled segments are removed above the retention size`() throws {
        let rig = try Rig()
        let journal = try rig.open(tight)
        defer { journal.stop() }
        try journal.declare(destinations: [("d", 0)])
        for _ in 0..<12 {
            try fill(journal)
            journal.advance("d", to: JournalCursor(position: journal.durableEnd))
            try journal.commit()
        }
        #expect(journal.firstPosition > 0)
        #expect(journal.statistics().bytes <= tight.retainSize)
        #expect(journal.statistics().gapCount == 0)
    }

    @Test func `new options take effect while the journal runs`() throws {
        let rig = try Rig()
        var options = tight
        options.whenFull = .block
        let journal = try rig.open(options)
        defer { journal.stop() }
        try journal.declare(destinations: [("behind", 0)])
        var number = 0
        func isTaken() -> Bool {
            number += 1
            if case .queued = offer(journal, [event(number, size: 450)]) { return true }
            return false
        }
        try eventually("the journal is full") { !isTaken() }
        options.whenFull = .reject
        try journal.configure(options)
        try eventually("events are refused") {
            if case .refused = offer(journal, [event(0, size: 450)]) { return true }
            return false
        }
        options.whenFull = .dropOldest
        try journal.configure(options)
        try eventually("the oldest events are dropped") { isTaken() }

        options.retainSize = 1
        #expect(throws: JournalError.self) { try journal.configure(options) }
    }

    @Test func `a destination with a full backlog makes clients wait or refuses their events`() throws {
        for whenFull in [JournalOptions.WhenFull.block, .reject] {
            let rig = try Rig()
            var options = tight
            options.whenFull = whenFull
            let journal = try rig.open(options, start: false)
            let space = Doorbell()
            journal.start(onSpace: { space.ring() })
            try journal.declare(destinations: [("behind", 0)])
            var outcome = JournalAppend.queued(end: 0)
            for number in 0..<3000 {
                outcome = offer(journal, [event(number, size: 450)])
                guard case .queued(let end) = outcome else { break }
                try eventually { journal.durableEnd >= end || journal.statistics().problem != nil }
            }
            switch whenFull {
            case .block: #expect(outcome == .busy)
            default:
                guard case .refused(let refusal) = outcome else {
                    Issue.record("the event was not refused")
                    break
                }
                #expect(refusal.reason == .journalFull && refusal.detail.contains("a destination is behind"))
            }
            #expect(
                journal.statistics().problem
                    == "journal full (384.0 KiB): waiting for destination \"behind\"; "
                    + (whenFull == .block ? "clients wait" : "events are refused") + " once the last segment is full"
                    + " (journal.retain)")
            #expect(journal.firstPosition == 0)
            #expect(journal.statistics().bytes <= options.retainSize)
            let taken = journal.statistics().next
            try eventually("accepted events are durable") { journal.durableEnd == taken }
            // There is room again, and waiting clients are notified.
            journal.advance("behind", to: JournalCursor(position: taken))
            if whenFull == .block { #expect(space.wait(until: SystemClock().now() + .seconds(60))) }
            try eventually { journal.statistics().problem == nil }
            try append(journal, [event(1)])
            journal.stop()
        }
    }

    @Test func `drop_oldest moves the cursor of a lagging destination and counts the lost events`() throws {
        let rig = try Rig()
        var options = tight
        options.whenFull = .dropOldest
        let journal = try rig.open(options)
        try journal.declare(destinations: [("behind", 0)])
        journal.advance("behind", to: JournalCursor(position: 1, state: [9]))
        try fill(journal, 10)
        // The keeper moves the cursor before it removes a segment.
        try eventually {
            let cursor = try #require(journal.cursor(of: "behind"))
            return cursor.position > 1 && cursor.state == [9] && cursor.position <= journal.firstPosition
        }
        #expect(rig.telemetry.counts()["journal_dropped_oldest"] ?? 0 > 0)
        try eventually("each lost position is counted") {
            let lost = journal.statistics().dropped["behind"]
            return lost == journal.cursor(of: "behind").map { $0.position - 1 }
        }
        journal.stop()
        let cursor = try #require(journal.cursor(of: "behind"))
        let again = try rig.open(options)
        #expect(again.cursor(of: "behind") == cursor)
        again.stop()
    }

    @Test func `on a full filesystem, segments kept only for replay are removed before events are refused`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        defer { journal.stop() }
        try journal.declare(destinations: [("d", 0)])
        // Space for five segments and the spare. `retain` would keep a thousand.
        disk.capacity = 6 * Rig.small.segmentSize + 32 << 10
        for _ in 0..<12 {
            try fill(journal)
            journal.advance("d", to: JournalCursor(position: journal.durableEnd))
            try journal.commit()
        }
        #expect(journal.statistics().problem == nil)
        #expect(journal.firstPosition > 0)
        #expect(journal.statistics().removedForSpace > 0)
        #expect(journal.statistics().segments >= 4, "no more segments are removed than necessary")
        #expect(
            rig.telemetry.counts()["journal_segment_removed_for_space"] == UInt64(journal.statistics().removedForSpace))
        // The keeper may remove one more segment between the two.
        try eventually("the remaining events can be read from the first one") {
            let first = journal.firstPosition
            return try readAll(journal, from: first).first?.position == first
        }
    }

    @Test(arguments: [JournalOptions.WhenFull.block, .reject])
    func `a full filesystem keeps the segments that a destination needs`(whenFull: JournalOptions.WhenFull) throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.whenFull = whenFull
        let journal = try rig.open(options, start: false)
        let space = Doorbell()
        journal.start(onSpace: { space.ring() })
        defer { journal.stop() }
        try journal.declare(destinations: [("behind", 0), ("ahead", 0)])
        disk.capacity = 4 * Rig.small.segmentSize + 32 << 10
        var outcome = JournalAppend.queued(end: 0)
        for number in 0..<3000 {
            outcome = offer(journal, [event(number, size: 450)])
            guard case .queued(let end) = outcome else { break }
            try eventually { journal.durableEnd >= end || journal.statistics().problem != nil }
            journal.advance("ahead", to: JournalCursor(position: journal.durableEnd))
        }
        if case .refused(let refusal) = outcome {
            #expect(
                whenFull == .reject && refusal.reason == .journalFull && refusal.detail.contains("filesystem is full"))
        } else {
            #expect(whenFull == .block && outcome == .busy)
        }
        let statistics = journal.statistics()
        #expect(statistics.isFull && statistics.isBlocked == (whenFull == .block))
        #expect(statistics.space?.needed == options.segmentSize)
        #expect(rig.telemetry.counts()["journal_filesystem_full"] == 1)
        #expect(journal.firstPosition == 0)
        #expect(journal.statistics().removedForSpace == 0)
        // The destination has settled its events, so their segments can be removed.
        journal.advance("behind", to: JournalCursor(position: journal.durableEnd))
        if whenFull == .block {
            #expect(space.wait(until: SystemClock().now() + .seconds(60)), "waiting clients are notified")
        }
        try eventually { journal.statistics().problem == nil }
        #expect(journal.firstPosition > 0)
        try append(journal, [event(1)])
    }

    @Test func `a full filesystem drops the oldest events with drop_oldest`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.whenFull = .dropOldest
        let journal = try rig.open(options)
        defer { journal.stop() }
        try journal.declare(destinations: [("behind", 0)])
        disk.capacity = 4 * Rig.small.segmentSize + 32 << 10
        for number in 0..<1000 { try append(journal, [event(number, size: 450)]) }
        #expect(journal.firstPosition > 0)
        // Perhaps the keeper is about to drop once more.
        try eventually {
            let cursor = journal.cursor(of: "behind")?.position ?? 0
            return cursor >= journal.firstPosition && journal.statistics().dropped["behind"] == cursor
        }
        // The dropped events are counted.
        #expect(rig.telemetry.counts()["journal_dropped_oldest"] ?? 0 > 0)
    }

    /// The worker of a destination that is down holds such a reader.
    @Test func `a full filesystem drops segments that a reader has open`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.whenFull = .dropOldest
        let journal = try rig.open(options)
        defer { journal.stop() }
        try journal.declare(destinations: [("behind", 0)])
        disk.capacity = 6 * Rig.small.segmentSize + 32 << 10
        try append(journal, [event(0)])
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        #expect(try reader.read(into: &batch, maximumBytes: 1))
        for number in 1..<1000 { try append(journal, [event(number, size: 450)]) }
        #expect(journal.firstPosition > 0)
        #expect(reader.position < journal.firstPosition, "the reader still has the dropped segment open")
        withExtendedLifetime(reader) {}
    }
}
