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
}
