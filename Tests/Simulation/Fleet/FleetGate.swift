import Platform

/// Runs the worlds of fleets, and takes away one rule at a time.
struct FleetGate {
    private let arguments: Arguments
    private let deadline: Instant

    init(_ arguments: Arguments) {
        self.arguments = arguments
        deadline = arguments.deadline
    }

    /// - Returns: whether no invariant was violated.
    func run() -> Bool {
        var count = 0
        for seed in arguments.first..<arguments.first + UInt64(arguments.seeds) where SystemClock().now() < deadline {
            count += 1
            let world = FleetWorld(seed: seed, without: mutation, prints: arguments.traces)
            world.run()
            if let violation = world.violation {
                print("fleet seed \(seed): \(violation)")
                print("    again: simulate --fleet --first \(seed) --seeds 1 --trace")
                return false
            }
        }
        print("\(count) fleets: every event stored, none twice but at crash handovers, each user's in order")
        return true
    }

    private var mutation: FleetWorld.Mutation? { arguments.mutation.flatMap { FleetWorld.Mutation(rawValue: $0) } }

    /// Prints a line for each rule.
    /// - Returns: whether a seed detects the absence of each.
    func passes() -> Bool {
        var isOpen = false
        for mutation in FleetWorld.Mutation.allCases {
            if let (seed, text) = caught(mutation) {
                print("\(mutation.rawValue): seed \(seed): \(text)")
            } else {
                print("\(mutation.rawValue): OPEN: not detected by \(arguments.seeds) seeds")
                isOpen = true
            }
        }
        return !isOpen
    }

    private func caught(_ mutation: FleetWorld.Mutation) -> (seed: UInt64, text: String)? {
        for seed in arguments.first..<arguments.first + UInt64(arguments.seeds) where SystemClock().now() < deadline {
            let world = FleetWorld(seed: seed, without: mutation)
            world.run()
            if let violation = world.violation { return (seed, violation) }
        }
        return nil
    }
}
