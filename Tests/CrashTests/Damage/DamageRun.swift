import Glibc
import Journal
import Platform
import Synchronization

/// All cases of damage to a segment in one place, with a thread for each processor.
package final class DamageRun: Sendable {
    /// The number of findings to keep. Further ones are only counted.
    private static let limit = 100

    private let segment: DamagedSegment
    private let next = Atomic(0)
    private let findings = Mutex<(count: Int, first: [String])>((0, []))

    package init(_ place: DamagedSegment.Place) throws(JournalError) { segment = try DamagedSegment(place) }

    /// Runs the cases. Call it once.
    /// - Parameter step: runs only every `step`th case.
    package func run(every step: Int = 1) -> (cases: Int, failures: Int, findings: [String]) {
        let total = (10 * Ledger.segmentSize + step - 1) / step
        let threads = (0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))).map { number in
            WorkerThread(name: "damage-\(number)") { self.work(total, step) }
        }
        for thread in threads { thread.join() }
        let found = findings.withLock { $0 }
        return (total, found.count, found.first)
    }

    private func work(_ total: Int, _ step: Int) {
        while true {
            let number = next.add(1, ordering: .relaxed).oldValue
            guard number < total else { return }
            guard let finding = segment.check(Self.damage(number * step)) else { continue }
            findings.withLock { findings in
                findings.count += 1
                if findings.first.count < Self.limit { findings.first.append(finding) }
            }
        }
    }

    /// The cases in order: for each byte its bits, the cut, the zeros.
    private static func damage(_ number: Int) -> DamagedSegment.Damage {
        switch number % 10 {
        case 8: .cut(at: number / 10)
        case 9: .zeros(from: number / 10)
        case let bit: .flip(bit: number / 10 * 8 + bit)
        }
    }
}
