// damage: every byte of a 64 KiB segment cut at and zeroed from, every bit of it flipped, wherever
// the segment may stand in its journal; recovery afterwards, twice, and the inspection.
//
//     damage [EVERY [PLACE …]]      each EVERYth case only; sealed, unsealed, current, crashed
//
// What must come out is worked out from what was appended (Ledger). A case that is not as it must be is
// printed, and the exit status is 1.

import Glibc
import Platform

@main
struct Damage {
    static func main() throws {
        var arguments = CommandLine.arguments.dropFirst()
        let step = arguments.popFirst().flatMap { Int($0) } ?? 1
        let places = arguments.compactMap(DamagedSegment.Place.init(rawValue:))
        guard step > 0, places.count == arguments.count else {
            print("usage: damage [EVERY [sealed | unsealed | current | crashed …]]")
            exit(2)
        }
        var failures = 0
        for place in places.isEmpty ? DamagedSegment.Place.allCases : places {
            let started = SystemClock().now()
            let run = try DamageRun(place).run(every: step)
            for finding in run.findings { print(finding) }
            failures += run.failures
            let seconds = (SystemClock().now() - started).inNanoseconds / 1_000_000_000
            print("\(place.rawValue): \(run.cases) cases, \(run.failures) not as they must be, \(seconds) s")
        }
        exit(failures == 0 ? 0 : 1)
    }
}
