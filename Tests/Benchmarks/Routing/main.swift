// `make bench-routing`: the cost of routing and mapping an event, without reading it from the journal.
//
// Prints one line per measurement: nanoseconds of processor time per event (the best of many rounds), and
// allocations per event after all buffers have reached their size. ALL is the time of a destination's
// router, including its output. COPY is the part that no routing can avoid: appending the same number of
// bytes to the output. ROUTING is the rest, and the limit applies to it. The events are those of
// `make bench`: track events of about 585 bytes.

import CAllocations
import Events
import Glibc
import Routing

struct Measurement {
    let name: String
    /// The limit in nanoseconds. nil: no limit.
    let limit: Int?
    private let work: (inout [UInt8]) -> Void

    /// - Parameter router: routes all sample events.
    init(name: String, limit: Int?, router: DestinationRouter) {
        self.name = name
        self.limit = limit
        work = { output in
            let batch = SampleEvents.batch
            for event in batch.events { _ = router.route(event, of: batch, into: &output) }
        }
    }

    /// - Parameter check: checks all sample events and writes nothing.
    init(name: String, check: @escaping () -> Void) {
        self.name = name
        limit = nil
        work = { _ in check() }
    }

    func run(_ output: inout [UInt8]) {
        output.removeAll(keepingCapacity: true)
        work(&output)
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
    measurement.run(&output)
    let size = output.count / SampleEvents.count
    let copy = best { Copying.run(size, &output) }
    let before = callocations_of_this_thread()
    measurement.run(&output)
    let allocations = Double(callocations_of_this_thread() - before) / Double(SampleEvents.count)
    print(
        measurement.name.padded(40), "\(Int(all.rounded()))".right(9), "\(Int(copy.rounded()))".right(6),
        "\(Int((all - copy).rounded()))".right(9), (measurement.limit.map { "\($0)" } ?? "-").right(7),
        "\((allocations * 100).rounded() / 100)".right(12))
}

enum Copying {
    /// Appends the average number of output bytes for each event.
    static func run(_ size: Int, _ output: inout [UInt8]) {
        output.removeAll(keepingCapacity: true)
        guard size > 0 else { return }
        let batch = SampleEvents.batch
        for event in batch.events {
            let start = min(Int(event.offset), max(0, batch.ownBytes.count - size))
            output.append(
                contentsOf: batch.ownBytes.span.extracting(start...).extracting(first: min(size, batch.ownBytes.count)))
        }
    }
}

/// The nanoseconds per event in the best round.
func best(_ round: () -> Void) -> Double {
    // Buffers that are reused between events reach their size.
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

/// The processor time of this thread in nanoseconds.
func processorTime() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

extension String {
    func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
