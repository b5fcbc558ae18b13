import Platform
import Synchronization
import Telemetry
import Testing

@Suite struct HistogramTests {
    private static let bounds: [Duration] = [.milliseconds(1), .milliseconds(10), .seconds(1)]

    @Test(arguments: [
        (Int64.min, 0), (-1, 0), (0, 0), (1_000_000, 0), (1_000_001, 1), (10_000_000, 1), (10_000_001, 2),
        (1_000_000_000, 2), (1_000_000_001, 3), (.max, 3),
    ])
    func `a duration is in the first bucket whose bound it does not exceed`(nanoseconds: Int64, bucket: Int) {
        let (histogram, other) = (Histogram(bounds: Self.bounds), Histogram(bounds: Self.bounds))
        histogram.record(nanoseconds: nanoseconds)
        var recorder = other.makeRecorder()
        recorder.add(nanoseconds)
        #expect(other.snapshot().count == 0, "it is not flushed yet")
        recorder.flush()
        var counts: [UInt64] = [0, 0, 0, 0]
        counts[bucket] = 1
        #expect(histogram.snapshot().counts == counts)
        let seconds = Double(max(0, nanoseconds)) / 1e9
        #expect(abs(histogram.snapshot().sum - seconds) <= seconds * 1e-12)
        #expect(other.snapshot() == histogram.snapshot())
    }

    @Test func `a recorder adds many events at once, and begins again after a flush`() {
        let histogram = Histogram(bounds: Self.bounds)
        var recorder = histogram.makeRecorder()
        recorder.add(5_000_000, count: 1000)
        recorder.add(2_000_000_000)
        recorder.add(7, count: 0)
        recorder.add(7, count: -3)
        recorder.flush()
        recorder.flush()
        #expect(histogram.snapshot().counts == [0, 1000, 0, 1])
        #expect(abs(histogram.snapshot().sum - 7) < 1e-9)
        recorder.add(5_000_000)
        recorder.flush()
        #expect(histogram.snapshot().counts == [0, 1001, 0, 1])
    }

    @Test func `threads lose no duration`() {
        let histogram = Histogram(bounds: .ofDisk)
        let threads = (0..<4).map { number in
            WorkerThread(name: "histogram") {
                var recorder = histogram.makeRecorder()
                for _ in 0..<10_000 {
                    if number.isMultiple(of: 2) {
                        histogram.record(nanoseconds: 1_000_000)
                    } else {
                        recorder.add(1_000_000)
                        recorder.flush()
                    }
                    _ = histogram.snapshot()
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(histogram.snapshot().count == 40_000)
        #expect(abs(histogram.snapshot().sum - 40) < 1e-6)
    }

    @Test(
        arguments: [
            (-1, 0), (0, 0), (0.25, 0.0005), (0.5, 0.001), (0.75, 0.0055), (0.99, 0.00982), (1, 0.01), (2, 0.01),
        ] as [(Double, Double)])
    func `a quantile is estimated inside its bucket`(part: Double, seconds: Double) throws {
        let snapshot = Histogram.Snapshot(bounds: [1_000_000, 10_000_000], counts: [50, 50, 0], sum: 0)
        #expect(abs(try #require(snapshot.quantile(part)) - seconds) < 1e-9)
    }

    @Test func `a quantile of no durations does not exist, and one beyond every bound is the last bound`() {
        var snapshot = Histogram.Snapshot(bounds: [1_000_000, 10_000_000], counts: [0, 0, 0], sum: 0)
        #expect(snapshot.quantile(0.5) == nil)
        snapshot.counts = [0, 0, .max]
        #expect(snapshot.quantile(0.99) == 0.01)
    }

    @Test func `the difference of two snapshots is what was recorded between them`() {
        let earlier = Histogram.Snapshot(bounds: [1_000_000], counts: [3, 1], sum: 2)
        let later = Histogram.Snapshot(bounds: [1_000_000], counts: [5, 1], sum: 2.5)
        #expect(later.since(earlier) == Histogram.Snapshot(bounds: [1_000_000], counts: [2, 0], sum: 0.5))
        #expect(later.since(nil) == later)
        // A reload has replaced the destination, which counts from 0 again.
        #expect(earlier.since(later) == earlier)
    }
}
