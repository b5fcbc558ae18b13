import Events
import Platform
import Synchronization
import Testing

@testable import Journal

/// The latest commits: what is lent stays as it is, and only readers that keep up are waited for.
@Suite struct RecentCommitsTests {
    private final class Count: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .relaxed) }
        func add() { count.add(1, ordering: .relaxed) }
    }

    private static let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)
    private let segment = Segment(
        firstPosition: 0, path: "/j/x.seg", fileSize: 1 << 20, readable: 0, end: 0, sealed: false)

    /// Adds a commit of one event, which consists of one letter.
    /// - Returns: the end of the commit in the segment.
    private func add(
        _ letter: UInt8, size: Int = 5000, to recent: RecentCommits, at offset: Int,
        now: Instant = Instant(nanoseconds: 0)
    ) -> Int {
        let buffer = CommitBuffer(capacity: 20_000, limits: BatchLimits(segmentSize: 1 << 20))
        buffer.removeAll(forOffset: offset)
        let json = [UInt8](repeating: letter, count: size)
        let events = [ScannedEvent(offset: 0, length: UInt32(size), index: EventIndex(kind: .track), line: 0)]
        buffer.add(json.span, events.span, from: Self.origin, position: 0)
        recent.add(buffer, 0..<buffer.count, segment: segment, offset: offset, now: now)
        return offset + buffer.count
    }

    private func letters(_ commit: LentCommit?, _ letter: UInt8, _ count: Int = 4000) -> Bool {
        guard let commit else { return false }
        let bytes = unsafe Array(commit.bytes)
        return bytes.count >= count && bytes.suffix(count).allSatisfy { $0 == letter }
    }

    private func options(segment: Int, readerWait: Duration) -> JournalOptions {
        var options = Rig.small
        options.segmentSize = segment
        options.retainSize = 1 << 30
        options.readerWait = readerWait
        return options
    }

    @Test(arguments: [0, 10_000])
    func `a commit is read from memory until newer ones replace it`(smallCommit: Int) throws {
        let recent = RecentCommits(bytes: 45_000, lent: 45_000, smallCommit: smallCommit)
        var ends = [0]
        for number in 0..<10 {
            ends.append(add(UInt8(65 + number), to: recent, at: ends[number]))
        }
        #expect(recent.lend(segment, at: 0, to: nil) == nil)
        let last = try #require(recent.lend(segment, at: ends[9] + 200, to: nil))
        #expect(unsafe last.bytes.count == ends[10] - ends[9] - 200)
        #expect(letters(last, 74))
        #expect(recent.lend(segment, at: ends[10], to: nil) == nil)
        #expect(letters(recent.lend(segment, at: ends[8], to: nil), 73))
    }

    @Test func `of the commits that all readers have passed, the latest stay`() throws {
        let recent = RecentCommits(bytes: 1 << 20, lent: 1 << 20, smallCommit: 10_000)
        let reader = ObjectIdentifier(segment)
        var ends = [0]
        var now = Instant(nanoseconds: 0)
        func add(_ count: Int, each time: Duration = .milliseconds(50)) {
            for _ in 0..<count {
                ends.append(self.add(65, size: 100, to: recent, at: ends[ends.count - 1], now: now))
                now = now + time
            }
        }
        func oldest() -> Int? { ends.indices.first { recent.lend(segment, at: ends[$0], to: nil) != nil } }
        add(40)
        #expect(oldest() == 8, "nobody reads here")
        #expect(recent.lend(segment, at: ends[20], to: reader) != nil)
        add(40)
        #expect(oldest() == 20, "a reader is there")
        let last = try #require(recent.lend(segment, at: ends[60], to: reader))
        recent.finish(last, by: reader)
        add(1)
        #expect(oldest() == 49)
        add(19)
        #expect(oldest() == 61, "the reader reads the next one, which is not among the latest")
        recent.leave(reader)
        add(1)
        #expect(oldest() == 69)
        add(60, each: .milliseconds(1))
        #expect(oldest() == 111, "and those of the last 50 ms")
    }

    @Test(arguments: [0, 10_000])
    func `what is lent stays as it is, whatever is added meanwhile`(smallCommit: Int) {
        let recent = RecentCommits(bytes: 45_000, lent: 45_000, smallCommit: smallCommit)
        var end = add(65, to: recent, at: 0)
        var lent = [recent.lend(segment, at: 0, to: nil), recent.lend(segment, at: 0, to: nil)]
        for number in 0..<60 { end = add(UInt8(66 + number), to: recent, at: end) }
        #expect(recent.lend(segment, at: 0, to: nil) == nil, "it is evicted")
        #expect(letters(lent[0], 65) && letters(lent[1], 65))
        lent[0] = nil
        for number in 0..<60 { end = add(UInt8(66 + number), to: recent, at: end) }
        #expect(letters(lent[1], 65))
        lent[1] = nil
        let before = end
        end = add(90, to: recent, at: end)
        #expect(letters(recent.lend(segment, at: before, to: nil), 90))
    }

    @Test func `above the limit of what is lent, a reader is asked to copy`() {
        let recent = RecentCommits(bytes: 60_000, lent: 40_000, smallCommit: 0)
        var ends = [0]
        for number in 0..<3 { ends.append(add(UInt8(65 + number), to: recent, at: ends[number])) }
        let first = recent.lend(segment, at: ends[0], to: nil)
        let again = recent.lend(segment, at: ends[0], to: nil)
        var second = recent.lend(segment, at: ends[1], to: nil)
        #expect([first, again, second].map { $0?.isScarce } == [false, false, false], "the memory of one counts once")
        #expect(recent.lend(segment, at: ends[2], to: nil)?.isScarce == true)
        second = nil
        #expect(recent.lend(segment, at: ends[2], to: nil)?.isScarce == false)
    }

    @Test func `a reader that keeps up is waited for, until it has gone on`() throws {
        let count = Count()
        let recent = RecentCommits(bytes: 45_000, lent: 45_000, smallCommit: 0) { count.add() }
        func wouldLap(_ now: Instant) -> Bool {
            recent.readersToAwait(adding: 5000, capacity: 20_000, now: now, lag: .milliseconds(100)) != nil
        }
        let (reader, other) = (ObjectIdentifier(segment), ObjectIdentifier(recent))
        let start = Instant(nanoseconds: 0)
        let first = add(65, to: recent, at: 0, now: start)
        let second = add(66, to: recent, at: first, now: start)
        #expect(!wouldLap(start), "nobody reads")
        #expect(recent.lend(segment, at: 0, to: nil) != nil)
        #expect(!wouldLap(start), "this reader is none that is waited for")
        #expect(recent.lend(segment, at: 0, to: reader) != nil && recent.lend(segment, at: 0, to: other) != nil)
        #expect(wouldLap(start + .milliseconds(99)))
        let awaited = recent.readersToAwait(adding: 5000, capacity: 20_000, now: start, lag: .milliseconds(100))
        #expect(awaited?.count == 2 && awaited?.reads == 0)
        // As the lanes at the beginning of a segment, which are no events.
        #expect(recent.lend(segment, at: 1 << 19, to: other) == nil && wouldLap(start), "it still keeps up")
        #expect(!wouldLap(start + .milliseconds(100)), "they do not keep up")
        #expect(wouldLap(start))
        #expect(recent.lend(segment, at: first, to: reader) != nil && count.value == 0)
        recent.leave(other)
        #expect(count.value == 1, "the last one has gone on")
        #expect(!wouldLap(start))
        // A reader that has the rest of a commit needs the commit after it.
        let commit = try #require(recent.lend(segment, at: 0, to: other))
        #expect(wouldLap(start))
        recent.finish(commit, by: other)
        #expect(!wouldLap(start) && count.value == 2)
        // It falls behind, and takes no time of others until it is back.
        var end = second
        for number in 0..<3 { end = add(UInt8(67 + number), to: recent, at: end, now: start) }
        #expect(recent.lend(segment, at: second, to: reader) == nil && !wouldLap(start))
        #expect(count.value == 2)
    }

    @Test func `a reader that has long stopped does not delay the end of the wait for another`() throws {
        let count = Count()
        let recent = RecentCommits(bytes: 45_000, lent: 45_000, smallCommit: 6000) { count.add() }
        let (stalled, other) = (ObjectIdentifier(segment), ObjectIdentifier(recent))
        let start = Instant(nanoseconds: 0)
        let now = start + .milliseconds(150)
        func wouldLap() -> Bool {
            recent.readersToAwait(adding: 9000, capacity: 20_000, now: now, lag: .milliseconds(100)) != nil
        }
        var end = add(65, to: recent, at: 0, now: start)
        let second = end
        for number in 0..<7 { end = add(UInt8(66 + number), to: recent, at: end, now: now) }
        #expect(recent.lend(segment, at: 0, to: stalled) != nil)
        let commit = try #require(recent.lend(segment, at: second, to: other))
        #expect(wouldLap())
        for _ in 0..<7 {
            guard wouldLap() else { break }
            recent.leave(other)
        }
        _ = commit
        #expect(count.value == 1)
    }

    @Test func `under full load, a destination that reads on finds every event in memory`() throws {
        let rig = Rig(MemoryDisk())
        let journal = try rig.open(options(segment: 4 << 20, readerWait: .seconds(1)))
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        let texts = (0..<50).map { event($0, size: 2000) }
        // When each 50 events were offered.
        var offeredAt = [SystemClock().now()]
        // The first read finds its place in the file.
        try append(journal, texts)
        _ = try reader.read(into: &batch, maximumBytes: 1 << 20, borrows: true)
        var (offered, seen) = (batch.events.count, batch.events.count)
        #expect(batch.isBorrowed && offered == 50)
        var keepsUp = true
        try eventually {
            // As many as it takes, and one read: the reader is the slower one.
            while offered < 20_000, case .queued = offer(journal, texts) {
                offered += 50
                offeredAt.append(SystemClock().now())
            }
            if try reader.read(into: &batch, maximumBytes: 64 << 10, borrows: true) {
                // The writer does not wait for a reader that is 100 ms late. It finds its place in the file then.
                keepsUp =
                    keepsUp && seen / 50 < offeredAt.count
                    && SystemClock().now() - offeredAt[seen / 50] < .milliseconds(80)
                let isAsExpected = batch.isBorrowed || batch.events.isEmpty || !keepsUp
                #expect(isAsExpected)
                for event in batch.events {
                    #expect(event.position == UInt64(seen))
                    seen += 1
                }
                let last = batch.events.count - 1
                if last >= 0 { #expect(batch.text(of: batch.events[last]).count == 2000) }
            }
            return seen == 20_000
        }
        journal.stop()
    }

    @Test func `a stop does not wait for readers, and commits all that is queued`() throws {
        let rig = Rig(MemoryDisk())
        let journal = try rig.open(options(segment: 16 << 20, readerWait: .seconds(1)))
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        let texts = (0..<50).map { event($0, size: 2000) }
        try append(journal, texts)
        _ = try reader.read(into: &batch, maximumBytes: 1 << 20, borrows: true)
        var offered = 50
        // The first commit after it needs no wait, the next one does, and the queue fills up behind it.
        try eventually {
            while case .queued = offer(journal, texts) { offered += 50 }
            return journal.statistics().queuedBytes > Rig.small.queueBytes
        }
        journal.stop()
        let again = try rig.open(options(segment: 16 << 20, readerWait: .zero))
        #expect(again.durableEnd == UInt64(offered))
        again.stop()
    }

    @Test func `a destination that does not read on holds no commit for longer than reader_wait`() throws {
        let rig = Rig(MemoryDisk())
        let journal = try rig.open(options(segment: 16 << 20, readerWait: .milliseconds(2)))
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        try append(journal, [event(0)])
        _ = try reader.read(into: &batch, maximumBytes: 1 << 20, borrows: true)
        let texts = (0..<50).map { event($0, size: 2000) }
        var offered = 1
        try eventually {
            while offered < 5001, case .queued = offer(journal, texts) { offered += 50 }
            return journal.durableEnd == 5001
        }
        // What it has borrowed is still there, and the rest comes from the disk.
        #expect(batch.text(of: batch.events[0]) == Array(event(0).utf8))
        var seen = 1
        while try reader.read(into: &batch, maximumBytes: 1 << 20, borrows: true) { seen += batch.events.count }
        #expect(seen == 5001)
        journal.stop()
    }
}
