import Events
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Journal

/// A commit waits for readers that wait for a processor, and not for those that wait for something else.
@Suite struct ReaderPauseTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func pause(_ turn: Duration, processors: Double, reads: UInt64 = 7) -> ReaderPause {
        ReaderPause(at: start, turn: turn, processors: processors, reads: reads)
    }

    /// How long the commit waits if readers read all the time.
    private func length(_ turn: Duration, readers: Int, processors: Double) -> Duration {
        var pause = pause(turn, processors: processors)
        var now = start
        var reads: UInt64 = 7
        while pause.goesOn(at: now, .init(count: readers, reads: reads)) {
            #expect(pause.next > now && pause.next - now <= turn)
            now = pause.next
            reads &+= 1
        }
        return now - start
    }

    @Test func `the wait is one turn for as many readers as processors, and longer for more`() {
        #expect(length(.milliseconds(5), readers: 1, processors: 2) == .milliseconds(5))
        #expect(length(.milliseconds(5), readers: 2, processors: 2) == .milliseconds(5))
        #expect(length(.milliseconds(5), readers: 8, processors: 2) == .milliseconds(20))
        #expect(length(.milliseconds(5), readers: 5, processors: 2) == .microseconds(12_500))
        #expect(length(.milliseconds(5), readers: 1000, processors: 2) == .milliseconds(100))
        #expect(length(.milliseconds(5), readers: 10, processors: 0) == .milliseconds(100))
        #expect(length(.seconds(1), readers: 10, processors: 1) == .seconds(1))
        #expect(length(.zero, readers: 1000, processors: 1) == .zero)
        #expect(length(.milliseconds(5), readers: .max, processors: 0.5) == .milliseconds(100))
    }

    /// - Parameter looks: how long after the start, how many readers there are then, and the count of their reads.
    private func answers(_ pause: ReaderPause, _ looks: [(after: Duration, count: Int, reads: UInt64)]) -> [Bool] {
        var (pause, answers) = (pause, [Bool]())
        for look in looks {
            answers.append(pause.goesOn(at: start + look.after, .init(count: look.count, reads: look.reads)))
        }
        return answers
    }

    @Test func `the wait ends once no reader has read anything for one turn`() {
        let answers = answers(
            pause(.milliseconds(5), processors: 1),
            [
                (.zero, 20, 7), (.milliseconds(4), 20, 7), (.milliseconds(5), 20, 8), (.milliseconds(9), 20, 8),
                (.milliseconds(10), 20, 8),
            ])
        #expect(answers == [true, true, true, true, false])
    }

    @Test func `the wait becomes shorter with each reader that has gone on`() {
        // The last one reads all the time, and is slow.
        let answers = answers(
            pause(.milliseconds(5), processors: 2),
            [(.zero, 20, 7), (.milliseconds(5), 20, 8), (.milliseconds(10), 7, 9), (.milliseconds(15), 1, 10)])
        #expect(answers == [true, true, true, false])
    }

    @Test func `a count of reads that begins anew is no obstacle`() {
        let pause = pause(.milliseconds(5), processors: 1, reads: .max)
        #expect(answers(pause, [(.milliseconds(5), 20, 0)]) == [true])
    }

    /// A clock that only the test moves.
    private final class SteppedClock: Clock {
        private let time = Atomic<Int64>(1_000_000_000)
        func now() -> Instant { Instant(nanoseconds: time.load(ordering: .relaxed)) }
        func wallClock() -> Int64 { 1_700_000_000_000_000_000 + time.load(ordering: .relaxed) }
        func advance(_ duration: Duration) { time.add(duration.inNanoseconds, ordering: .relaxed) }
    }

    @Test func `the writer waits while the readers read, and commits after a turn in which none did`() throws {
        let clock = SteppedClock()
        var options = Rig.small
        options.segmentSize = 4 << 20
        options.readerWait = .milliseconds(5)
        let journal = try Journal.open(
            directory: "/journal", options: options, disk: MemoryDisk(), clock: clock,
            telemetry: Telemetry(sink: Rig.Lines(), now: { 0 }), generator: Rig.Generator(state: 7))
        defer { journal.stop() }
        let steps = journal.startStepped()
        steps.keep()
        /// One commit of several batches: each sender has its own.
        func offerFifty() {
            for sender in 1...5 as ClosedRange<Int32> {
                let origin = Origin(source: "app", uid: 1000, gid: 1000, pid: sender)
                guard case .queued = offer(journal, (0..<10).map { event($0, size: 2000) }, from: origin) else {
                    Issue.record("the events were not queued")
                    return
                }
            }
        }
        offerFifty()
        steps.write()
        #expect(journal.durableEnd == 50)
        // Three readers are in the middle of the first commit.
        let readers = (0..<3).map { _ in journal.makeReader(from: 0) }
        var batches = [EventBatch](repeating: EventBatch(), count: readers.count)
        for number in readers.indices {
            _ = try readers[number].read(into: &batches[number], maximumBytes: 4000, borrows: true)
        }
        offerFifty()
        #expect(steps.write() == clock.now() + .milliseconds(5))
        clock.advance(.milliseconds(5))
        _ = try readers[1].read(into: &batches[1], maximumBytes: 4000, borrows: true)
        #expect(steps.write() == clock.now() + .milliseconds(5))
        #expect(journal.durableEnd == 50)
        clock.advance(.milliseconds(5))
        steps.write()
        #expect(journal.durableEnd == 100)
    }
}
