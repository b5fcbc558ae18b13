import Events
import Glibc
import Journal
import Platform
import Testing

@Suite struct FaultTests {
    @Test func `a failed sync abandons the file and loses no event`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        try append(journal, [event(0), event(1)])
        try eventually { disk.contents("/journal/spare") != nil }
        disk.fail("fdatasync", "00000000000000000000.seg", code: EIO)
        try append(journal, [event(2), event(3)])
        #expect(rig.segmentNames == ["00000000000000000000.seg", "00000000000000000002.seg"])
        #expect(journal.statistics().problem == nil)
        #expect(try readAll(journal).map(\.json) == (0..<4).map { event($0) })
        let survivor = Rig(disk.survivor())
        journal.stop()
        let again = try survivor.open()
        #expect(try readAll(again).map(\.json) == (0..<4).map { event($0) })
        #expect(again.statistics().gapCount == 0)
        again.stop()
    }

    @Test func `a segment whose first sync fails is replaced by another file of the same name`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        disk.fail("fdatasync", "00000000000000000000.seg", code: EIO, times: .max)
        let journal = try rig.open()
        _ = offer(journal, [event(0)])
        try eventually { journal.statistics().problem != nil }
        // A reader has the abandoned file open.
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        #expect(try !reader.read(into: &batch, maximumBytes: 1000))
        disk.heal()
        try eventually { try reader.read(into: &batch, maximumBytes: 1000) }
        #expect(batch.events.map(\.position) == [0])
        #expect(try readAll(journal).map(\.json) == [event(0)])
        let survivor = Rig(disk.survivor())
        journal.stop()
        let again = try survivor.open()
        #expect(try readAll(again).map(\.json) == [event(0)])
        again.stop()
    }

    @Test func `a seal whose sync failed is not trusted`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open(start: false)
        // One commit spans two segments. The sync of the first segment's seal fails.
        let texts = (0..<200).map { event($0, size: 450) }
        #expect(offer(journal, texts) == .queued(end: 200))
        disk.fail("fdatasync", "00000000000000000000.seg", code: EIO)
        journal.start()
        try eventually { journal.durableEnd == 200 }
        try append(journal, (200..<600).map { event($0, size: 450) })
        let expected = (0..<600).map { event($0, size: 450) }
        #expect(try readAll(journal).map(\.json) == expected)
        journal.stop()
        let again = try rig.open()
        #expect(try readAll(again).map(\.json) == expected)
        #expect(again.statistics().gapCount == 0)
        again.stop()
    }

    @Test func `a seal that ends above the name of the next segment is not trusted`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var journal = try rig.open()
        try append(journal, [event(0, size: 450)])
        // One commit fills the rest of the segment, and the sync of its seal fails. The failed page stays
        // visible in the page cache until the kernel evicts it.
        let texts = (1..<200).map { event($0, size: 450) }
        disk.fail("fdatasync", "00000000000000000000.seg", code: EIO)
        #expect(offer(journal, texts) == .queued(end: 200))
        try eventually { journal.durableEnd == 200 }
        journal.stop()
        disk.change("/journal/00000000000000000000.seg") { bytes in
            for index in 2000..<60_000 { bytes[index] = 0 }
        }
        journal = try rig.open()
        #expect(try readAll(journal).map(\.position) == (0..<200).map { UInt64($0) })
        #expect(journal.statistics().gapCount == 0)
        journal.stop()
    }

    @Test func `events are refused while every sync fails, and readers continue`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        defer { journal.stop() }
        try append(journal, [event(0)])
        disk.fail("fdatasync", ".seg", code: EIO, times: .max)
        #expect(offer(journal, [event(1)]) == .queued(end: 2))
        try eventually { journal.statistics().problem != nil }
        guard case .refused(let refusal) = offer(journal, [event(2)]) else {
            Issue.record("an event was accepted while nothing can be written")
            return
        }
        #expect(refusal.reason == .journalFull && refusal.detail.contains("fdatasync"))
        #expect(journal.durableEnd == 1)
        #expect(try readAll(journal).map(\.json) == [event(0)])
        // When the disk works again, the queued events are written and new ones are accepted.
        disk.heal()
        try eventually { journal.durableEnd == 2 && journal.statistics().problem == nil }
        try append(journal, [event(2)])
        #expect(try readAll(journal).map(\.json) == (0..<3).map { event($0) })
    }

    /// The journal cannot start a segment, for example because the filesystem has become read-only.
    @Test(arguments: [("rename", "spare"), ("fsync", "/journal"), ("open", "00000000000000000000.seg")])
    func `events are refused while no segment can be started`(call: String, path: String) throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        defer { journal.stop() }
        try eventually { disk.contents("/journal/spare") != nil }
        disk.fail(call, path, code: EROFS, times: .max)
        #expect(offer(journal, [event(0)]) == .queued(end: 1))
        try eventually { journal.statistics().problem != nil }
        #expect(!journal.statistics().isFull)
        guard case .refused = offer(journal, [event(1)]) else {
            Issue.record("an event was accepted while nothing can be written")
            return
        }
        disk.heal()
        try eventually { journal.durableEnd == 1 && journal.statistics().problem == nil }
        try append(journal, [event(1)])
    }

    /// A shortage of descriptors is temporary, so clients wait, as on a full disk.
    @Test(arguments: ["spare.new", "00000000000000000000.seg"], [JournalOptions.WhenFull.block, .reject])
    func `clients wait while the process has no free descriptors`(
        path: String, whenFull: JournalOptions.WhenFull
    ) throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.whenFull = whenFull
        disk.fail("open", path, code: EMFILE, times: .max)
        let journal = try rig.open(options, start: false)
        defer { journal.stop() }
        let steps = journal.startStepped()
        steps.keep()
        var taken: UInt64 = 0
        if path != "spare.new" {
            #expect(offer(journal, [event(0)]) == .queued(end: 1))
            taken = 1
            steps.write()
            steps.keep()
            steps.write()
        }
        let outcome = offer(journal, [event(1)])
        if whenFull == .block {
            #expect(outcome == .busy)
        } else if case .refused(let refusal) = outcome {
            #expect(refusal.detail.contains("open"))
        } else {
            Issue.record("an event was accepted while nothing can be written")
        }
        #expect(journal.statistics().problem != nil && !journal.statistics().isFull)
        disk.heal()
        try eventually("the journal retries") {
            steps.keep()
            steps.write()
            return journal.statistics().problem == nil
        }
        #expect(offer(journal, [event(1)]) == .queued(end: taken + 1))
    }

    /// The spare segment still exists, so the keeper takes it for ready each time.
    @Test func `the second failure in a row is reported although the keeper sees no failure`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open(start: false)
        defer { journal.stop() }
        let steps = journal.startStepped()
        steps.keep()
        disk.fail("rename", "/journal/spare", code: EROFS, times: .max)
        #expect(offer(journal, [event(0)]) == .queued(end: 1))
        steps.write()
        #expect(journal.statistics().problem == nil, "one failure refuses no client")
        steps.keep()
        let next = steps.write()
        #expect(journal.statistics().problem != nil)
        #expect(next != nil, "the clock starts the retry, so that the two threads do not wake each other")
    }

    @Test func `events are refused before the write on a full disk, and accepted again when there is space`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        // Space for two segments, not for a third.
        disk.capacity = 160 << 10
        var options = Rig.small
        options.whenFull = .reject
        let journal = try rig.open(options)
        defer { journal.stop() }
        var taken = 0
        var refusal: Refusal?
        while refusal == nil, taken < 1000 {
            switch offer(journal, [event(taken, size: 500)]) {
            case .queued(let end):
                taken += 1
                try eventually { journal.durableEnd == end || journal.statistics().problem != nil }
            case .refused(let why): refusal = why
            case .busy: usleep(1000)
            }
        }
        #expect(refusal?.reason == .journalFull)
        #expect(
            refusal?.detail.hasPrefix("the journal's filesystem is full: the next segment needs 65536 bytes") == true)
        #expect(journal.statistics().isFull)
        #expect(taken > 150 && taken < 240)
        try eventually("accepted events are durable") { journal.durableEnd == UInt64(taken) }
        #expect(try readAll(journal).count == taken)
        disk.capacity = 1 << 20
        try eventually { journal.statistics().problem == nil }
        try append(journal, [event(taken, size: 500)])
    }

    @Test func `a reader retries after a failed read and skips no event`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let first = try rig.open()
        try append(first, [event(0), event(1)])
        first.stop()
        // After a restart no events are in memory.
        let journal = try rig.open()
        defer { journal.stop() }
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        disk.fail("pread", ".seg", code: EIO)
        #expect(throws: JournalError.self) { try reader.read(into: &batch, maximumBytes: 1000) }
        disk.fail("open", ".seg", code: EMFILE)
        #expect(throws: JournalError.self) { try reader.read(into: &batch, maximumBytes: 1000) }
        #expect(try reader.read(into: &batch, maximumBytes: 1000))
        #expect(batch.events.map(\.position) == [0, 1])
        #expect(journal.statistics().gapCount == 0)
    }
}
