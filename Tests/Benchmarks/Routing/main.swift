// `make bench-routing`: what routing and mapping an event cost beyond reading it from the journal.
//
// One line a measurement: nanoseconds of processor time an event (the best of many rounds) and
// allocations an event, once everything has grown to its size. ALL is what a destination's router takes,
// its output included. COPY is the part of that which no routing can avoid: as many bytes as were
// written, appended to the output and nothing else. ROUTING is the rest, and what the limit is for.
// The events are those of `make bench`: tracks of about 585 bytes.

import CAllocations
import Events
import Glibc
import Routing

struct Measurement {
    var name: String
    /// Nanoseconds; nil: nothing was promised.
    var limit: Int?
    var router: DestinationRouter

    /// Routes all events.
    func run(_ output: inout [UInt8]) {
        output.removeAll(keepingCapacity: true)
        let batch = SampleEvents.batch
        for event in batch.events { _ = router.route(event, of: batch, into: &output) }
    }

    /// How many bytes each event becomes.
    func sizes() -> [Int] {
        var output: [UInt8] = []
        return SampleEvents.batch.events.map { event in
            output.removeAll()
            _ = router.route(event, of: SampleEvents.batch, into: &output)
            return output.count
        }
    }
}

let measurements = RoutingMeasurements.all + MappingMeasurements.all + PlanMeasurements.all
let chosen = CommandLine.arguments.dropFirst()
var output: [UInt8] = []
output.reserveCapacity(1 << 21)

print(
    "MEASUREMENT".padded(40), "ALL".right(9), "COPY".right(6), "ROUTING".right(9), "LIMIT".right(7),
    "ALLOCATIONS".right(12))
for measurement in measurements where chosen.isEmpty || chosen.contains(where: measurement.name.contains) {
    let all = best { measurement.run(&output) }
    let sizes = measurement.sizes()
    let copy = best { Copying.run(sizes, &output) }
    let before = callocations_of_this_thread()
    measurement.run(&output)
    let allocations = Double(callocations_of_this_thread() - before) / Double(SampleEvents.count)
    print(
        measurement.name.padded(40), "\(Int(all.rounded()))".right(9), "\(Int(copy.rounded()))".right(6),
        "\(Int((all - copy).rounded()))".right(9), (measurement.limit.map { "\($0)" } ?? "-").right(7),
        "\((allocations * 100).rounded() / 100)".right(12))
}

enum Copying {
    /// Appends as many bytes as each event became.
    static func run(_ sizes: [Int], _ output: inout [UInt8]) {
        output.removeAll(keepingCapacity: true)
        let batch = SampleEvents.batch
        for (event, size) in zip(batch.events, sizes) where size > 0 {
            output.append(contentsOf: batch.bytes.span.extracting(Int(event.offset)...).extracting(first: size))
        }
    }
}

/// Nanoseconds an event in the best round.
func best(_ round: () -> Void) -> Double {
    // What is kept from event to event grows to its size.
    for _ in 0..<3 { round() }
    var best = Double.infinity
    var rounds = 0
    let end = processorTime() + 2e8
    while rounds < 25 || processorTime() < end {
        let start = processorTime()
        round()
        best = min(best, processorTime() - start)
        rounds += 1
    }
    return best / Double(SampleEvents.count)
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
