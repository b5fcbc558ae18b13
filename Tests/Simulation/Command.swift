// Simulation: runs the daemon's journal, delivery workers and client protocol on a simulated machine.
//
// The code under test is the code that the daemon runs. The disk tears writes, loses unsynced data and returns
// errors, as real disks do. The process dies between any two calls, the clock jumps, destinations fail.
//
// # Invariants
//
// - A seed determines a run: every decision comes from it, so a run can be repeated and inspected.
// - The invariants hold after every step (Invariants.swift, Audit.swift). At the end the faults stop, and every
//   accepted event must be settled at every destination.
// - A ledger that shares no code with the code under test decides what is correct.
// - A world runs in one thread and shares nothing with other worlds. Several worlds run in parallel.
//
// The simulation measures no performance, touches no real file and never sleeps.

import Journal
import Platform

@main
struct Command {
    static func main() {
        guard let arguments = Arguments(CommandLine.arguments.dropFirst()) else { Exit.usage() }
        if arguments.fleet {
            let gate = FleetGate(arguments)
            if !(arguments.mutations ? gate.passes() : gate.run()) { Exit.failed() }
            return
        }
        if let name = arguments.mutation, Mutation.named(name) == nil {
            print(
                "simulate: unknown protection \(name); the protections are: \(Mutation.all.map(\.name).joined(separator: " "))"
            )
            Exit.failed()
        }
        Memory.keep()
        if arguments.mutations {
            if !MutationGate(arguments).passes() { Exit.failed() }
            return
        }
        let protections =
            arguments.mutation.flatMap { Mutation.named($0) }.map { Protections.all.subtracting($0.without) } ?? .all
        let summary = Campaign(arguments, protections, until: arguments.deadline).run()
        print(summary.text)
        if arguments.mutation == nil, !arguments.traces, !RegressionSeed.allPass() { Exit.failed() }
        if !summary.violations.isEmpty { Exit.failed() }
    }
}
