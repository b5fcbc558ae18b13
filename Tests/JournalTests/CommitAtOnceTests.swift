import Glibc
import Platform
import Synchronization
import Testing

@testable import Journal

/// A thread that appends makes the commit itself where that is quick.
@Suite struct CommitAtOnceTests {
    /// The threads that have made commits.
    private final class Committers: Sendable {
        private let threads = Mutex<[pthread_t]>([])
        func note() { threads.withLock { $0.append(pthread_self()) } }
        var count: Int { threads.withLock { $0.count } }
        /// Whether the last commit was made by the calling thread.
        var isMe: Bool {
            let last = threads.withLock { $0.last }
            return last.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
    }

    private func open(_ rig: Rig, _ committers: Committers, _ options: JournalOptions = Rig.small) throws -> Journal {
        let journal = try rig.open(options, start: false)
        journal.start(onDurable: { _ in committers.note() })
        return journal
    }

    /// Appends an event and lets it be committed.
    /// - Returns: whether this thread has made the commit.
    private func commit(_ number: Int, _ journal: Journal, _ committers: Committers) throws -> Bool {
        let before = committers.count
        guard case .queued(let end) = offer(journal, [event(number)], wakesWriter: false) else {
            Issue.record("the event was not queued")
            return false
        }
        journal.commitAtOnce()
        // The events are durable a moment before the committer is noted.
        let isNoted = journal.durableEnd >= end && committers.count > before
        if !isNoted { try eventually { journal.durableEnd >= end && committers.count > before } }
        return isNoted && committers.isMe
    }

    @Test func `a small commit is made by the thread that appends`() throws {
        let (rig, committers) = (Rig(MemoryDisk()), Committers())
        let journal = try open(rig, committers)
        var count = 0
        // The writer's thread begins the segment, and the thread of a test can be interrupted for long.
        try eventually {
            count += 1
            return try commit(count - 1, journal, committers)
        }
        #expect(try readAll(journal).map(\.json) == (0..<count).map { event($0) })
        journal.stop()
    }

    @Test func `where the disk is slow, the writer's thread commits`() throws {
        let (disk, committers) = (MemoryDisk(), Committers())
        let journal = try open(Rig(disk), committers)
        disk.syncTime = WriterTurn.slow * 2
        var count = 0
        try eventually("the first commit is made at once, and the next ones are not") {
            count += 1
            let until = SystemClock().now() + WriterTurn.pause(after: disk.syncTime)
            guard try commit(count - 1, journal, committers) else { return false }
            count += 1
            let isMine = try commit(count - 1, journal, committers)
            // Unless this thread was interrupted for so long that the pause was over.
            if SystemClock().now() < until { #expect(!isMine) }
            return !isMine
        }
        #expect(try readAll(journal).map(\.json) == (0..<count).map { event($0) })
        journal.stop()
    }

    @Test func `after a slow commit, the disk counts as slow for 19 times as long, up to 64 seconds`() {
        for milliseconds in [20, 21, 100, 3000] {
            let commit = Duration.milliseconds(milliseconds)
            #expect(WriterTurn.pause(after: commit) == commit * 19)
        }
        for commit in [Duration.seconds(4), .seconds(1 << 40), .nanoseconds(Int64.max)] {
            #expect(WriterTurn.pause(after: commit) == .seconds(64))
        }
    }

    @Test func `a large commit is left to the writer's thread`() throws {
        let (rig, committers) = (Rig(MemoryDisk()), Committers())
        var options = Rig.small
        options.segmentSize = 1 << 20
        let journal = try open(rig, committers, options)
        try eventually { try commit(0, journal, committers) }
        let large = event(1, size: WriterTurn.largest)
        let before = committers.count
        guard case .queued(let end) = offer(journal, [large], wakesWriter: false) else {
            Issue.record("the event was not queued")
            return
        }
        journal.commitAtOnce()
        try eventually { journal.durableEnd >= end && committers.count > before }
        #expect(!committers.isMe)
        journal.stop()
    }

    @Test func `a commit that fails is made by the next attempt`() throws {
        let (disk, committers) = (MemoryDisk(), Committers())
        let rig = Rig(disk)
        let journal = try open(rig, committers)
        try eventually { try commit(0, journal, committers) }
        let before = journal.durableEnd
        disk.fail("fdatasync", ".seg", code: EIO)
        _ = try commit(1, journal, committers)
        #expect(journal.durableEnd == before + 1)
        journal.stop()
        let reports = rig.log.lines.withLock { lines in lines.filter { $0.contains("stops using this file") }.count }
        #expect(reports == 1)
        #expect(try readAll(try rig.open()).last?.json == event(1))
    }

    @Test func `several threads commit and wake the writer`() throws {
        let rig = try Rig()
        let journal = try open(rig, Committers())
        let (threads, rounds) = (3, 400)
        let refused = Atomic(0)
        let workers = (0..<threads).map { thread in
            WorkerThread(name: "client") {
                for round in 0..<rounds {
                    // Through several segments.
                    let text = event(thread * rounds + round, size: 200 + round)
                    while true {
                        let outcome = offer(journal, [text], wakesWriter: thread == 0)
                        if case .queued = outcome { break }
                        if case .refused = outcome { refused.add(1, ordering: .relaxed) }
                        if case .refused = outcome { break }
                        sched_yield()
                    }
                    if thread == 1 { journal.commitAtOnce() } else { journal.wakeWriter() }
                }
            }
        }
        for worker in workers { worker.join() }
        #expect(refused.load(ordering: .relaxed) == 0)
        try eventually { journal.durableEnd >= UInt64(threads * rounds) }
        let found = try readAll(journal).map(\.json)
        #expect(Set(found).count == threads * rounds && found.count == threads * rounds)
        for thread in 0..<threads {
            let own = (0..<rounds).map { event(thread * rounds + $0, size: 200 + $0) }
            let set = Set(own)
            #expect(found.filter(set.contains) == own, "thread \(thread)")
        }
        journal.stop()
        journal.commitAtOnce()
    }
}
