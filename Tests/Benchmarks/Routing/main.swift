// `make bench-routing`: what routing and mapping an event cost beyond reading it from the journal.
//
// One line a measurement: nanoseconds of processor time an event (the median of the rounds) and
// allocations an event, once everything has grown to its size. The events are those of `make bench`: tracks of about 640
// bytes. What a destination takes is written out, copy included.

import CAllocations
import Glibc

struct Measurement {
    var name: String
    /// Nanoseconds; nil: nothing was promised.
    var limit: Int?
    var run: () -> Void
}

let measurements = RoutingMeasurements.all + MappingMeasurements.all + PlanMeasurements.all
let chosen = CommandLine.arguments.dropFirst()

print("MEASUREMENT".padded(46), "NS/EVENT".right(9), "LIMIT".right(7), "ALLOCATIONS".right(12))
for measurement in measurements where chosen.isEmpty || chosen.contains(where: measurement.name.contains) {
    // What is kept from event to event grows to its size.
    for _ in 0..<3 { measurement.run() }
    var times: [Double] = []
    let end = processorTime() + 2e8
    while times.count < 25 || processorTime() < end {
        let start = processorTime()
        measurement.run()
        times.append(processorTime() - start)
    }
    let median = times.sorted()[times.count / 2] / Double(SampleEvents.count)
    let before = callocations_of_this_thread()
    measurement.run()
    let allocations = Double(callocations_of_this_thread() - before) / Double(SampleEvents.count)
    print(
        measurement.name.padded(46), "\(Int(median.rounded()))".right(9),
        (measurement.limit.map { "\($0)" } ?? "-").right(7), "\((allocations * 100).rounded() / 100)".right(12))
}

/// Of this thread, in nanoseconds.
func processorTime() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

extension String {
    func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
