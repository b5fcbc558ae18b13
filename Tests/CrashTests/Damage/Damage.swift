// damage: tests recovery from a damaged segment. Cuts a 64 KiB segment at every byte, zeroes it from every byte on, and
// flips every bit, at each place of the segment in its journal. Then opens the journal twice and inspects it.
//
//     damage [EVERY [PLACE …]]      only each EVERYth case; sealed, unsealed, current, crashed
//
// The expected result is computed from the appended events (Ledger). Prints each case with another result; the exit
// status is then 1.

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
            print("\(place.rawValue): \(run.cases) cases, \(run.failures) wrong, \(seconds) s")
        }
        exit(failures == 0 ? 0 : 1)
    }
}
