import Journal
import Platform

/// Removes each protection from the journal, one at a time. A seed must detect the missing protection: first the
/// known seed, then any seed of the range. The gate fails if no seed detects it.
struct MutationGate {
    private let arguments: Arguments
    private let deadline: Instant

    init(_ arguments: Arguments) {
        self.arguments = arguments
        deadline = arguments.deadline
    }

    /// Prints a line for each protection.
    /// - Returns: whether a seed detects the absence of every protection.
    func passes() -> Bool {
        var isShut = false
        for mutation in Mutation.all {
            if let (seed, text) = caught(mutation) {
                print("\(mutation.name): seed \(seed): \(text)")
            } else {
                print("\(mutation.name): OPEN: not detected by \(arguments.seeds) seeds")
                isShut = true
            }
        }
        return !isShut
    }

    /// A seed that also fails with all protections detects nothing.
    private func caught(_ mutation: Mutation) -> (seed: UInt64, text: String)? {
        if let text = violation(mutation.seed, mutation.without), violation(mutation.seed, []) == nil {
            return (mutation.seed, text)
        }
        var arguments = arguments
        let end = arguments.first + UInt64(arguments.seeds)
        while arguments.first < end {
            let protections = Protections.all.subtracting(mutation.without)
            let found = Campaign(arguments, protections, until: deadline, stopsAtFirst: true).run()
            guard let last = found.violations.last else { return nil }
            if let noticed = found.violations.first(where: { violation($0.seed, []) == nil }) { return noticed }
            arguments.first = last.seed + 1
            arguments.seeds = Int(end - arguments.first)
        }
        return nil
    }

    private func violation(_ seed: UInt64, _ without: Protections) -> String? {
        let world = World(seed: seed, protections: Protections.all.subtracting(without), prints: false)
        world.run()
        return world.trace.violation
    }
}
