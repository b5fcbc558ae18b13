import Synchronization

/// Counts durations in fixed buckets. Any thread. It has all of its memory from the start: recording allocates nothing
/// and costs no more than an uncontended lock.
package final class Histogram: Sendable {
    /// The contents at one moment.
    package struct Snapshot: Sendable, Equatable {
        /// Upper bounds in nanoseconds, inclusive, ascending.
        package var bounds: [Int64]
        /// How many durations are in each bucket, and at the end how many are longer than every bound.
        package var counts: [UInt64]
        /// In seconds.
        package var sum: Double

        package init(bounds: [Int64], counts: [UInt64], sum: Double) {
            self.bounds = bounds
            self.counts = counts
            self.sum = sum
        }

        package var count: UInt64 { counts.reduce(0, &+) }

        /// The duration in seconds that this part of all durations does not exceed, estimated as Prometheus does:
        /// inside a bucket, durations count as evenly distributed. It is at most the last bound.
        /// - Parameter part: from 0 to 1.
        /// - Returns: nil: there are no durations.
        package func quantile(_ part: Double) -> Double? {
            let all = count
            guard all > 0 else { return nil }
            let rank = min(max(part, 0), 1) * Double(all)
            var below = 0.0
            for (index, bound) in bounds.enumerated() {
                let inside = Double(counts[index])
                if inside > 0, below + inside >= rank {
                    let low = index > 0 ? Double(bounds[index - 1]) : 0
                    return (low + (Double(bound) - low) * max(0, rank - below) / inside) / 1e9
                }
                below += inside
            }
            return Double(bounds.last ?? 0) / 1e9
        }

        /// What was recorded since an earlier snapshot of the same histogram; everything if it is not the same.
        package func since(_ earlier: Snapshot?) -> Snapshot {
            guard let earlier, earlier.bounds == bounds, zip(counts, earlier.counts).allSatisfy({ $0 >= $1 }) else {
                return self
            }
            return Snapshot(bounds: bounds, counts: zip(counts, earlier.counts).map { $0 - $1 }, sum: sum - earlier.sum)
        }
    }

    /// Collects durations for a histogram without a lock. For a thread that records one for each event: it flushes them
    /// once for each batch.
    package struct Recorder: Sendable {
        private let histogram: Histogram
        fileprivate var counts: [UInt64]
        fileprivate var sum = 0.0
        private var isEmpty = true

        fileprivate init(_ histogram: Histogram) {
            self.histogram = histogram
            counts = [UInt64](repeating: 0, count: histogram.bounds.count + 1)
        }

        /// - Parameters:
        ///   - nanoseconds: a negative duration counts as 0: the wall clock may have been set back.
        ///   - count: how many had this duration.
        package mutating func add(_ nanoseconds: Int64, count: Int = 1) {
            guard count > 0 else { return }
            let duration = max(0, nanoseconds)
            counts[histogram.bucket(of: duration)] &+= UInt64(count)
            sum += Double(duration) * 1e-9 * Double(count)
            isEmpty = false
        }

        /// Moves the durations into the histogram.
        package mutating func flush() {
            guard !isEmpty else { return }
            histogram.take(&self)
            isEmpty = true
        }
    }

    private struct State {
        var counts: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Int64]
    private let state: Mutex<State>

    /// - Parameter bounds: the upper bounds of the buckets, ascending.
    package init(bounds: [Duration]) {
        let nanoseconds = bounds.map { bound in
            let (seconds, attoseconds) = bound.components
            return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        }
        precondition(zip(nanoseconds, nanoseconds.dropFirst()).allSatisfy { $0 < $1 }, "bounds ascend")
        self.bounds = nanoseconds
        state = Mutex(State(counts: [UInt64](repeating: 0, count: nanoseconds.count + 1)))
    }

    package func record(nanoseconds: Int64) {
        let duration = max(0, nanoseconds)
        let bucket = self.bucket(of: duration)
        state.withLock { state in
            state.counts[bucket] &+= 1
            state.sum += Double(duration) * 1e-9
        }
    }

    package func makeRecorder() -> Recorder { Recorder(self) }

    private func take(_ recorder: inout Recorder) {
        state.withLock { state in
            for index in recorder.counts.indices {
                state.counts[index] &+= recorder.counts[index]
                recorder.counts[index] = 0
            }
            state.sum += recorder.sum
        }
        recorder.sum = 0
    }

    package func snapshot() -> Snapshot {
        state.withLock { state in
            // A copy of its own: with a shared one, the next record would have to copy the array.
            Snapshot(bounds: bounds, counts: state.counts.map { $0 }, sum: state.sum)
        }
    }

    private func bucket(of duration: Int64) -> Int {
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < duration { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension [Duration] {
    /// From 100 µs to 10 s: for calls to the disk, and for what waits for one.
    package static var ofDisk: [Duration] {
        [
            .microseconds(100), .microseconds(250), .microseconds(500), .milliseconds(1), .microseconds(2500),
            .milliseconds(5), .milliseconds(10), .milliseconds(25), .milliseconds(50), .milliseconds(100),
            .milliseconds(250), .milliseconds(500), .seconds(1), .milliseconds(2500), .seconds(5), .seconds(10),
        ]
    }

    /// From 5 ms to one day: for deliveries, which may wait for a service.
    package static var ofDelivery: [Duration] {
        [
            .milliseconds(5), .milliseconds(10), .milliseconds(25), .milliseconds(50), .milliseconds(100),
            .milliseconds(250), .milliseconds(500), .seconds(1), .milliseconds(2500), .seconds(5), .seconds(10),
            .seconds(30), .seconds(60), .seconds(300), .seconds(900), .seconds(3600), .seconds(21_600),
            .seconds(86_400),
        ]
    }
}
