import Control
import Platform
import Synchronization
import Testing

@testable import Daemon

/// What the status says of the processors.
@Suite struct LoadMeterTests {
    private func sampled(_ samples: [(threads: [String: Duration], process: Duration)]) -> StatusReport.Load? {
        var meter = LoadMeter()
        for (second, sample) in samples.enumerated() {
            meter.sample(
                threads: sample.threads, process: sample.process,
                at: Instant(nanoseconds: 5_000_000_000) + .seconds(second))
        }
        return meter.load(of: 4)
    }

    @Test func `the thread that uses most is found, over some seconds`() {
        #expect(sampled([]) == nil)
        #expect(sampled([(["a": .seconds(1)], .seconds(1))]) == nil)
        let load = sampled([
            (["a": .seconds(100), "b": .seconds(1)], .seconds(101)),
            (["a": .milliseconds(100_100), "b": .milliseconds(1750)], .milliseconds(102_000)),
            (["a": .milliseconds(100_200), "b": .milliseconds(2500)], .milliseconds(103_000)),
        ])
        #expect(load == StatusReport.Load(processors: 4, used: 1, busiestThread: "b", busiestUsed: 0.75))
    }

    @Test func `a thread that has ended is no longer named`() {
        let load = sampled([
            (["a": .seconds(1), "b": .seconds(1)], .seconds(2)),
            (["a": .seconds(2), "b": .milliseconds(1250)], .milliseconds(3250)),
            (["b": .milliseconds(1500)], .milliseconds(3500)),
        ])
        #expect(load?.busiestThread == "b" && load?.busiestUsed == 0.25)
    }

    @Test func `the time of running threads is known by their names, and no longer when they have ended`() {
        let name = "load-meter-test"
        let (bell, over) = (Doorbell(), Doorbell())
        let threads = (0..<2).map { _ in
            WorkerThread(name: name) {
                while WorkerThread.processorTime < .milliseconds(20) {}
                over.ring()
                bell.wait()
                bell.ring()
            }
        }
        let end = SystemClock().now() + .seconds(60)
        while WorkerThread.processorTimes[name] ?? .zero < .milliseconds(40), SystemClock().now() < end {
            over.wait(until: SystemClock().now() + .milliseconds(10))
        }
        let used = WorkerThread.processorTimes[name] ?? .zero
        #expect(used >= .milliseconds(40) && used <= ProcessUsage.processorTime)
        bell.ring()
        for thread in threads { thread.join() }
        #expect(WorkerThread.processorTimes[name] == nil)
    }
}
