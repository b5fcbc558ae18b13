import Journal
import Platform
import Synchronization

/// Runs many worlds on several threads.
final class Campaign: Sendable {
    /// Every 50th seed runs twice. Both runs must be equal.
    private static let repeatEvery: UInt64 = 50
    private static let violationLimit = 20

    private let arguments: Arguments
    private let protections: Protections
    private let next: Atomic<UInt64>
    private let end: UInt64
    private let summary = Mutex(Summary())
    private let deadline: Instant
    private let stopsAtFirst: Bool

    /// - Parameter stopsAtFirst: whether the campaign ends at the first violation.
    init(_ arguments: Arguments, _ protections: Protections, until deadline: Instant, stopsAtFirst: Bool = false) {
        self.arguments = arguments
        self.protections = protections
        self.stopsAtFirst = stopsAtFirst
        next = Atomic(arguments.first)
        end = arguments.first + UInt64(arguments.seeds)
        self.deadline = deadline
    }

    func run() -> Summary {
        let start = SystemClock().now()
        let threads = (0..<arguments.threads).map { number in
            WorkerThread(name: "world-\(number)") { self.work() }
        }
        for thread in threads { thread.join() }
        return summary.withLock { summary in
            summary.duration = SystemClock().now() - start
            summary.violations.sort { $0.seed < $1.seed }
            return summary
        }
    }

    private func work() {
        while SystemClock().now() < deadline {
            let seed = next.add(1, ordering: .relaxed).oldValue
            guard seed < end else { return }
            let world = World(seed: seed, protections: protections, prints: arguments.traces)
            world.run()
            var violation = world.trace.violation
            if seed % Self.repeatEvery == 0, !arguments.traces {
                let again = World(seed: seed, protections: protections, prints: false)
                again.run()
                if again.trace.hash != world.trace.hash {
                    violation = violation ?? "the same seed ran differently the second time"
                }
            }
            let isEnough = summary.withLock { summary in
                summary.add(world)
                if let violation { summary.violations.append((seed, violation)) }
                return !summary.violations.isEmpty && (stopsAtFirst || summary.violations.count >= Self.violationLimit)
            }
            if isEnough { next.store(end, ordering: .relaxed) }
        }
    }
}
