// Simulation: the journal, the delivery workers and the clients' protocol, the same code that the daemon
// runs, on a machine that is made up: its disk tears, forgets and lies within what real ones do, its
// process dies between any two calls, its clock jumps, its destinations fail.
//
// - A seed is a run: every decision comes from it, so that a run can be repeated and looked at.
// - After every step the invariants hold (Invariants.swift, Audit.swift). At the end the faults stop, and
//   everything that was taken has to be settled everywhere.
// - What is right is judged by a ledger that shares no code with what is tested.
// - One world is one thread, and knows no other; several run side by side.
//
// It measures nothing, touches no file of the machine, and waits for nothing.

import Journal
import Platform

@main
struct Command {
    static func main() {
        guard let arguments = Arguments(CommandLine.arguments.dropFirst()) else { Exit.usage() }
        if let name = arguments.mutation, Mutation.named(name) == nil {
            print("simulate: no protection is called \(name); there are: \(Mutation.all.map(\.name).joined(separator: " "))")
            Exit.failed()
        }
        Memory.keep()
        if arguments.mutations {
            if !MutationGate(arguments).passes() { Exit.failed() }
            return
        }
        let protections = arguments.mutation.flatMap { Mutation.named($0) }.map { Protections.all.subtracting($0.without) } ?? .all
        let summary = Campaign(arguments, protections, until: arguments.deadline).run()
        print(summary.text)
        if arguments.mutation == nil, !arguments.traces, !RegressionSeed.allPass() { Exit.failed() }
        if !summary.violations.isEmpty { Exit.failed() }
    }
}
