import Glibc
import Journal
import Platform
import Synchronization

/// The acknowledgements and their times. The journal's thread writes them; they are read after its end.
final class Acknowledgements: Sendable {
    struct Record {
        var end: UInt64
        var time: Instant
    }

    let records = Mutex<[Record]>([])

    func note(_ end: UInt64) {
        records.withLock { $0.append(Record(end: end, time: SystemClock().now())) }
    }
}

extension JournalBenchmark {
    /// Appends events one at a time at fixed moments, also while earlier ones are not durable. An event's
    /// latency is the time from its moment to its acknowledgement.
    static func measureLatency(_ place: Place, rate: Int, seconds: Int) throws {
        guard rate > 0, seconds > 0 else { fail("journal-benchmark: give more of each\n") }
        let journal = try place.open()
        let acknowledgements = Acknowledgements()
        acknowledgements.records.withLock { $0.reserveCapacity(rate * seconds) }
        journal.start(onDurable: { acknowledgements.note($0) })
        let sample = EventSample(count: 1)
        // Waits until the first segment is ready.
        usleep(500_000)
        let count = rate * seconds
        let interval = 1e9 / Double(rate)
        let begin = SystemClock().now() + .milliseconds(10)
        let intended = { (number: Int) in Instant(nanoseconds: begin.nanoseconds + Int64(Double(number) * interval)) }
        for number in 0..<count {
            sleep(until: intended(number))
            guard case .queued = journal.append(sample.bytes.span, events: sample.events.span, from: EventSample.origin)
            else { fail("journal-benchmark: the disk does not keep up with \(rate) events a second\n") }
        }
        while journal.acknowledgedEnd < UInt64(count) { usleep(1000) }
        journal.stop()
        var latencies: [Int64] = []
        latencies.reserveCapacity(count)
        let records = acknowledgements.records.withLock { $0 }
        for record in records {
            while latencies.count < min(Int(record.end), count) {
                latencies.append((record.time - intended(latencies.count)).inNanoseconds)
            }
        }
        latencies.sort()
        let percentile = { (part: Double) in Double(latencies[min(count - 1, Int(Double(count) * part))]) / 1e3 }
        print(
            #"{"p50_us":\#(percentile(0.5)),"p99_us":\#(percentile(0.99)),"p999_us":\#(percentile(0.999)),"#
                + #""commits":\#(records.count)}"#)
    }

    private static func sleep(until moment: Instant) {
        while SystemClock().now() < moment {
            var time = timespec(
                tv_sec: Int(moment.nanoseconds / 1_000_000_000), tv_nsec: Int(moment.nanoseconds % 1_000_000_000))
            unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
        }
    }
}
