import Journal
import Platform

/// Takes each protection out of the journal, one at a time: some seed has to notice. The one that is known
/// first; where it does not notice any more, any among the first ones. One that none notices is open, and
/// the gate shut.
struct MutationGate {
    private let arguments: Arguments
    private let deadline: Instant

    init(_ arguments: Arguments) {
        self.arguments = arguments
        deadline = arguments.deadline
    }

    /// Prints a line for each protection.
    /// - Returns: whether every one is missed, or shown to be covered by another.
    func passes() -> Bool {
        var isShut = false
        for mutation in Mutation.all {
            let (isWell, text) = judge(mutation)
            print("\(mutation.name): \(text)")
            if !isWell { isShut = true }
        }
        return !isShut
    }

    private func judge(_ mutation: Mutation) -> (isWell: Bool, text: String) {
        switch mutation.fate {
        case .caught(let known):
            guard let (seed, text) = caught(known, mutation.without, notBy: [[]]) else {
                return (false, "OPEN: not noticed by \(arguments.seeds) seeds")
            }
            return (true, "seed \(seed): \(text)")
        case .redundant(let name, let known, let why):
            guard let other = Mutation.named(name) else { return (false, "OPEN: there is no \(name)") }
            let both = mutation.without.union(other.without)
            guard let (seed, text) = caught(known, both, notBy: [mutation.without, other.without]) else {
                return (false, "OPEN: with \(name) gone too, not noticed by \(arguments.seeds) seeds")
            }
            let alone = Campaign(arguments, Protections.all.subtracting(mutation.without), until: deadline).run()
            if let (seed, text) = alone.violations.first {
                return (false, "NOT REDUNDANT: seed \(seed) notices: \(text)")
            }
            return (true, "redundant: \(why); unnoticed by \(alone.seeds) seeds; with \(name) gone too, seed \(seed): \(text)")
        }
    }

    /// - Parameter controls: a seed that fails with one of these gone only, or with nothing gone, has noticed
    ///   something else.
    private func caught(_ known: UInt64, _ without: Protections, notBy controls: [Protections]) -> (seed: UInt64, text: String)? {
        if let text = violation(known, without), isQuiet(known, controls) { return (known, text) }
        var arguments = arguments
        let end = arguments.first + UInt64(arguments.seeds)
        while arguments.first < end {
            let found = Campaign(arguments, Protections.all.subtracting(without), until: deadline, stopsAtFirst: true).run()
            guard let last = found.violations.last else { return nil }
            if let noticed = found.violations.first(where: { isQuiet($0.seed, controls) }) { return noticed }
            arguments.first = last.seed + 1
            arguments.seeds = Int(end - arguments.first)
        }
        return nil
    }

    private func isQuiet(_ seed: UInt64, _ controls: [Protections]) -> Bool {
        controls.allSatisfy { violation(seed, $0) == nil }
    }

    private func violation(_ seed: UInt64, _ without: Protections) -> String? {
        let world = World(seed: seed, protections: Protections.all.subtracting(without), prints: false)
        world.run()
        return world.trace.violation
    }
}
