import Journal

/// Takes each protection out of the journal, one at a time: some seed has to notice. The one that is known
/// first; where it does not notice any more, any among the first ones.
struct MutationGate {
    private let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    /// Prints a line for each protection.
    /// - Returns: whether every one is missed, but for those that are known not to be.
    func passes() -> Bool {
        var escaped: [String] = []
        for mutation in Mutation.all {
            if case .harmless(let why) = mutation.fate {
                print("\(mutation.name): no seed can notice: \(why)")
            } else if let (seed, text) = caught(mutation) {
                print("\(mutation.name): seed \(seed): \(text)")
            } else {
                print("\(mutation.name): NOT NOTICED by \(arguments.seeds) seeds")
                // One that no seed has ever noticed is known to be open (DocC: Proof).
                if mutation.fate != nil { escaped.append(mutation.name) }
            }
        }
        return escaped.isEmpty
    }

    private func caught(_ mutation: Mutation) -> (seed: UInt64, text: String)? {
        let protections = Protections.all.subtracting(mutation.without)
        if case .caught(let seed) = mutation.fate {
            let world = World(seed: seed, protections: protections, prints: false)
            world.run()
            if let violation = world.trace.violation { return (seed, violation) }
        }
        return Campaign(arguments, protections, stopsAtFirst: true).run().violations.first { found in
            // A seed that fails anyway notices nothing.
            let whole = World(seed: found.seed, protections: .all, prints: false)
            whole.run()
            return whole.trace.violation == nil
        }
    }
}
