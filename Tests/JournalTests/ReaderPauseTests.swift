import Platform
import Testing

@testable import Journal

/// A commit waits for readers that wait for a processor, and not for those that wait for something else.
@Suite struct ReaderPauseTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func pause(_ turn: Duration, readers: Int, processors: Double) -> ReaderPause {
        ReaderPause(at: start, turn: turn, .init(count: readers, reads: 7), processors: processors)
    }

    /// How long the commit waits if readers read all the time.
    private func length(_ turn: Duration, readers: Int, processors: Double) -> Duration {
        var pause = pause(turn, readers: readers, processors: processors)
        var now = start
        var reads: UInt64 = 7
        while pause.goesOn(at: now, reads: reads) {
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

    @Test func `the wait ends once no reader has read anything for one turn`() {
        var pause = pause(.milliseconds(5), readers: 20, processors: 1)
        let looks: [(after: Duration, reads: UInt64)] = [
            (.zero, 7), (.milliseconds(4), 7), (.milliseconds(5), 8), (.milliseconds(9), 8), (.milliseconds(10), 8),
        ]
        var answers: [Bool] = []
        for look in looks { answers.append(pause.goesOn(at: start + look.after, reads: look.reads)) }
        #expect(answers == [true, true, true, true, false])
    }

    @Test func `a count of reads that begins anew is no obstacle`() {
        var pause = ReaderPause(
            at: start, turn: .milliseconds(5), .init(count: 20, reads: .max), processors: 1)
        let goesOn = pause.goesOn(at: start + .milliseconds(5), reads: 0)
        #expect(goesOn)
    }
}
