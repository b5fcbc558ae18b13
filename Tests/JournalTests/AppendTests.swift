import Events
import Journal
import Platform
import Synchronization
import Testing

@Suite struct AppendTests {
    @Test func `a reader returns the appended events`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let texts = (0..<50).map { event($0, size: 60 + $0) }
        #expect(offer(journal, texts) == .queued(end: 50))
        try eventually { journal.durableEnd == 50 }
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        #expect(try reader.read(into: &batch, maximumBytes: 1 << 20))
        #expect(batch.events.map(\.position) == Array(0..<50))
        #expect(batch.events.map { String(decoding: batch.text(of: $0), as: UTF8.self) } == texts)
        #expect(batch.next == 50)
        #expect(batch.origins == [app])
        let first = try #require(batch.events.first)
        #expect(first.receivedAt == 1_700_000_000_000_000_000)
        #expect(first.index.kind == .track)
        #expect(first.index.event == Slice(offset: 25, length: 1))
        #expect(first.index.userID == Slice(offset: 38, length: 1))
        #expect(!first.index.messageID.isPresent)
        #expect(try !reader.read(into: &batch, maximumBytes: 1 << 20))
        #expect(batch.events.isEmpty && batch.next == 50)
    }

    @Test func `a reader continues at the end, in the same segment and in a later one`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let reader = journal.makeReader(from: 0)
        #expect(try reader.skipToEnd() == 0)
        var batch = EventBatch()
        var next = 0
        while rig.segmentNames.count < 3 {
            try append(journal, (next..<next + 10).map { event($0, size: 2000) })
            #expect(try reader.skipToEnd() == 10)
            #expect(try !reader.read(into: &batch, maximumBytes: 1 << 20))
            next += 10
            try append(journal, [event(next)])
            #expect(try reader.read(into: &batch, maximumBytes: 1 << 20))
            #expect(batch.events.map(\.position) == [UInt64(next)])
            next += 1
        }
        #expect(try reader.skipToEnd() == 0)
    }

    @Test func `each event keeps its origin`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let web = Origin(source: "a source with a name of more than fifteen bytes", uid: 0, gid: 0, pid: -1)
        for number in 0..<6 { _ = offer(journal, [event(number)], from: number % 2 == 0 ? app : web) }
        try eventually { journal.durableEnd == 6 }
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        var origins: [Origin] = []
        while try reader.read(into: &batch, maximumBytes: 64) {
            for event in batch.events { origins.append(batch.origins[Int(event.origin)]) }
        }
        #expect(origins == [app, web, app, web, app, web])
    }

    @Test func `events of one commit keep their own receive times`() throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        let steps: [Duration] = [.zero, .milliseconds(5), .seconds(60), .seconds(60), .seconds(-300)]
        var expected: [Int64] = []
        for (number, step) in steps.enumerated() {
            rig.clock.advance(step)
            expected.append(rig.clock.wallClock())
            _ = offer(journal, [event(number)])
        }
        journal.start()
        defer { journal.stop() }
        try eventually { journal.durableEnd == 5 }
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        #expect(try reader.read(into: &batch, maximumBytes: 1 << 20))
        #expect(batch.events.map(\.receivedAt) == expected)
    }

    @Test func `a reader can start at any position`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        for start in stride(from: 0, to: 900, by: 30) {
            try append(journal, (start..<start + 30).map { event($0, size: 300) })
        }
        #expect(rig.segmentNames.count > 3)
        for position in [0, 1, 29, 30, 333, 450, 898, 899] {
            let found = try readAll(journal, from: UInt64(position))
            #expect(found.map(\.position) == (UInt64(position)..<900).map { $0 })
            #expect(found.first?.json == event(position, size: 300))
        }
        #expect(try readAll(journal, from: 900).isEmpty)
    }

    @Test func `a reader combines cached pages with reads from the disk`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let texts = (0..<600).map { event($0, size: 500) }
        for start in stride(from: 0, to: 600, by: 30) { try append(journal, Array(texts[start..<start + 30])) }
        #expect(rig.segmentNames.count > 3)
        // Only a part of each segment gets into the page cache. The rest comes from the disk.
        for name in rig.segmentNames {
            var bytes: [UInt8] = []
            _ = try rig.disk.open(rig.path(name), .readOnly).read(20_000, at: 0, appendingTo: &bytes)
        }
        #expect(try readAll(journal).map(\.json) == texts)
    }

    /// The page cache holds zeros; or of each segment the header of the first batch and zeros behind it, and no more.
    @Test(arguments: [nil, 64])
    func `a stale page in the page cache is read again from the disk`(whole: Int?) throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        defer { journal.stop() }
        let texts = (0..<600).map { event($0, size: 500) }
        for start in stride(from: 0, to: 600, by: 30) { try append(journal, Array(texts[start..<start + 30])) }
        disk.cacheIsStale = true
        disk.cachedPart = whole.map { ($0, 1000) }
        // Less than a batch, so that each batch takes two reads.
        #expect(try readAll(journal, maximumBytes: whole == nil ? 100_000 : 1000).map(\.json) == texts)
        #expect(journal.statistics().gapCount == 0)
    }

    @Test func `a restart continues the last segment and keeps all events`() throws {
        let rig = try Rig()
        var expected: [String] = []
        for round in 0..<3 {
            let journal = try rig.open()
            defer { journal.stop() }
            #expect(journal.durableEnd == UInt64(expected.count))
            #expect(try readAll(journal).map(\.json) == expected)
            for part in 0..<8 {
                let texts = (0..<50).map { event(round * 1000 + part * 50 + $0, size: 400) }
                try append(journal, texts)
                expected += texts
            }
            #expect(try readAll(journal).map(\.json) == expected)
            #expect(journal.statistics().gapCount == 0)
        }
        // Each start continued the last segment: there are no more segments than without restarts.
        #expect(rig.segmentNames.count == 9)
    }

    @Test func `a reader follows the durable end`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        #expect(try !reader.read(into: &batch, maximumBytes: 1000))
        for number in 0..<500 {
            try append(journal, [event(number, size: 500)])
            #expect(try reader.read(into: &batch, maximumBytes: 1000))
            #expect(batch.events.map(\.position) == [UInt64(number)])
            // The read returns only the new batch.
            #expect(batch.ownBytes.count < 700)
        }
        #expect(rig.segmentNames.count > 3)
        journal.stop()
    }

    @Test(arguments: [1, 4]) func `the events of each producer keep their order`(producers: Int) throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        let space = Doorbell()
        let reported = Rig.Shared<[UInt64]>([])
        journal.start(
            onDurable: { position in reported.withLock { $0.append(position) } }, onSpace: { space.ring() })
        let each = 2000
        let threads = (0..<producers).map { producer in
            WorkerThread(name: "producer") {
                let origin = Origin(source: "p\(producer)", uid: 0, gid: 0, pid: Int32(producer))
                var sent = 0
                while sent < each {
                    switch offer(journal, (sent..<sent + 10).map { event($0, size: 200) }, from: origin) {
                    case .queued: sent += 10
                    case .busy: space.wait(until: SystemClock().now() + .milliseconds(20))
                    case .refused: return
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        try eventually { journal.durableEnd == UInt64(producers * each) }
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        var next = [Int](repeating: 0, count: producers)
        var position: UInt64 = 0
        while try reader.read(into: &batch, maximumBytes: 50_000) {
            for record in batch.events {
                #expect(record.position == position)
                position += 1
                let producer = Int(batch.origins[Int(record.origin)].pid)
                #expect(String(decoding: batch.text(of: record), as: UTF8.self) == event(next[producer], size: 200))
                next[producer] += 1
            }
        }
        #expect(next == [Int](repeating: each, count: producers))
        journal.stop()
        let ends = reported.withLock { $0 }
        #expect(ends == ends.sorted() && ends.last == position)
    }

    @Test func `a full append queue is busy until the writer takes its events`() throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        let texts = (0..<100).map { event($0, size: 500) }
        var queued = 0
        while case .queued = offer(journal, texts) { queued += 100 }
        #expect(offer(journal, texts) == .busy)
        #expect(queued * 500 <= 2 * Rig.small.queueBytes && queued * 500 > Rig.small.queueBytes)
        let space = Atomic(0)
        journal.start(onSpace: { space.add(1, ordering: .relaxed) })
        try eventually { space.load(ordering: .relaxed) == 1 }
        #expect(offer(journal, texts) == .queued(end: UInt64(queued + 100)))
        journal.stop()
        #expect(journal.durableEnd == UInt64(queued + 100))
    }

    @Test func `an event larger than a segment is refused`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        guard case .refused(let refusal) = offer(journal, [event(0, size: 70_000)]) else {
            Issue.record("an event larger than a segment was accepted")
            return
        }
        #expect(refusal.reason == .tooLarge)
        #expect(refusal.detail.contains("journal.segment_size"))
        try append(journal, [event(1, size: 50_000)])
        #expect(try readAll(journal).map(\.json) == [event(1, size: 50_000)])
    }

    @Test func `stop writes the queued events and refuses new ones`() throws {
        let rig = try Rig()
        let journal = try rig.open(start: false)
        #expect(offer(journal, [event(0), event(1)]) == .queued(end: 2))
        journal.start()
        journal.stop()
        #expect(journal.durableEnd == 2)
        guard case .refused(let refusal) = offer(journal, [event(2)]) else {
            Issue.record("an event was accepted after stop")
            return
        }
        #expect(refusal.reason == .journalFull && refusal.detail.contains("stopping"))
    }

    @Test func `with a sync interval, readers see durable events only`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var options = Rig.small
        options.sync = .interval(.milliseconds(100))
        let journal = try rig.open(options)
        guard case .queued(let end) = offer(journal, [event(0)]) else {
            Issue.record("not queued")
            return
        }
        try eventually { journal.acknowledgedEnd == end }
        #expect(journal.durableEnd <= end)
        try eventually { journal.durableEnd == end }
        #expect(try readAll(journal).count == 1)
        _ = offer(journal, [event(1)])
        journal.stop()
        #expect(journal.durableEnd == 2)
    }

    @Test func `a time is resolved to the first event at or after it`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let start = rig.clock.wallClock()
        for number in 0..<400 {
            rig.clock.set(start + Int64(number) * 1_000_000_000)
            try append(journal, [event(number, size: 500)])
        }
        #expect(rig.segmentNames.count > 2)
        #expect(try journal.position(at: 0) == 0)
        for number in [1, 57, 200, 399] {
            #expect(try journal.position(at: start + Int64(number) * 1_000_000_000) == UInt64(number))
            #expect(try journal.position(at: start + Int64(number) * 1_000_000_000 - 1) == UInt64(number))
        }
        #expect(try journal.position(at: start + 400_000_000_000) == 400)
    }
}
