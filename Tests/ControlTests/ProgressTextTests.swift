import Control
import Platform
import Testing

@Suite struct ProgressTextTests {
    private func time(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func `a known amount of work shows a bar, a percentage and the remaining time`() {
        var text = ProgressText(label: "verify", total: 1000)
        #expect(
            text.next(done: 0, at: time(0), width: 80) { "0 B" } == "verify  [....................] 0 %  0 B")
        // 250 in 5 s: 750 need 15 s.
        #expect(
            text.next(done: 250, at: time(5000), width: 80) { "250 B" }
                == "verify  [#####...............] 25 %  250 B, 15 s left")
        #expect(
            text.next(done: 1000, at: time(6000), width: 80) { "1000 B" }
                == "verify  [####################] 100 %  1000 B")
        // More than announced, as when a file grows.
        #expect(text.next(done: .max, at: time(7000), width: 80) { "" } == "verify  [####################] 100 %")
    }

    @Test(arguments: [nil, 0] as [UInt64?])
    func `an unknown amount of work shows only the label and the note`(total: UInt64?) {
        var text = ProgressText(label: "diff", total: total)
        #expect(text.next(done: 5, at: time(0), width: 80) { "5 events" } == "diff  5 events")
        #expect(text.next(done: 9, at: time(5000), width: 80) { "9 events" } == "diff  9 events")
    }

    @Test func `the line changes at most ten times a second, and at once after other output`() {
        var text = ProgressText(label: "", total: nil)
        #expect(text.next(done: 1, at: time(0), width: 80) { "one" } == "one")
        #expect(text.next(done: 2, at: time(99), width: 80) { fatalError("the note costs nothing") } == nil)
        #expect(text.next(done: 3, at: time(100), width: 80) { "three" } == "three")
        text.forget()
        #expect(text.next(done: 4, at: time(101), width: 80) { "four" } == "four")
    }

    @Test func `the line never wraps, and text from outside cannot control the terminal`() {
        var text = ProgressText(label: "", total: nil)
        #expect(text.next(done: 1, at: time(0), width: 10) { "a long \u{1B}[2Jnote" } == "a long \\…")
        text.forget()
        #expect(text.next(done: 1, at: time(1), width: 0) { "note" } == "…")
    }

    @Test func `the rate is that of the last seconds`() {
        var rate = RecentRate()
        #expect(rate.perSecond == nil)
        rate.add(0, at: time(0))
        rate.add(10, at: time(100))
        #expect(rate.perSecond == nil, "100 ms say little")
        for second in 1...10 { rate.add(UInt64(1000 * second), at: time(Int64(1000 * second))) }
        #expect(rate.perSecond == 1000)
        // It stalls.
        for second in 11...20 { rate.add(10_000, at: time(Int64(1000 * second))) }
        #expect(rate.perSecond == 0)
        // A count that begins again is no growth.
        rate.add(3, at: time(21_000))
        #expect(rate.perSecond == 0)
    }
}
