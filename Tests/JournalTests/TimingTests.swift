import Events
import Journal
import Platform
import Telemetry
import Testing

@Suite struct TimingTests {
    @Test func `each event counts with the time from its receipt to its acknowledgement`() throws {
        let rig = try Rig()
        let timings = JournalTimings(clock: rig.clock)
        let journal = try rig.open(start: false, timings: timings)
        _ = offer(journal, (0..<3).map { event($0) })
        rig.clock.advance(.milliseconds(30))
        _ = offer(journal, [event(3)], from: Origin(source: "other", uid: 1, gid: 1, pid: 1))
        rig.clock.advance(.milliseconds(2))
        #expect(timings.commits.snapshot().count == 0)
        journal.start()
        try eventually { timings.commits.snapshot().count == 4 }
        journal.stop()
        let times = timings.commits.snapshot()
        // 32 ms for three events of one sender, 2 ms for the other one.
        #expect(abs(times.sum - 0.098) < 1e-9)
        let counts = Dictionary(uniqueKeysWithValues: zip(times.bounds, times.counts))
        #expect(counts[50_000_000] == 3 && counts[2_500_000] == 1)
        #expect(timings.syncs.snapshot().count >= 1)
    }

    @Test func `a wall clock that is set back gives no negative time`() throws {
        let rig = try Rig()
        let timings = JournalTimings(clock: rig.clock)
        let journal = try rig.open(start: false, timings: timings)
        _ = offer(journal, [event(0)])
        rig.clock.advance(.seconds(-3600))
        journal.start()
        try eventually { timings.commits.snapshot().count == 1 }
        journal.stop()
        #expect(timings.commits.snapshot().sum == 0)
    }
}
