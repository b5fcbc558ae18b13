import ArgumentParser
import DaemonConfiguration
import ConfigurationSyntax
import TrackingPlan

struct PlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Check a tracking plan, generate code from it, or infer one from events.",
        subcommands: [PlanCheck.self, PlanGenerate.self, PlanInfer.self])
}

struct PlanCheck: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Validate a tracking plan.",
        discussion: """
            Reads only this file and does not ask the daemon.

            Exit status: 0 valid, 1 not valid.

            Examples:
              penstock plan check plans/shop.yaml
            """)

    @Argument(help: "The tracking plan, a YAML file.", completion: .configurationFile)
    var file: String

    func run() throws {
        let result = PlanFileResult.load(file)
        for diagnostic in result.diagnostics { printError(diagnostic.description) }
        guard let plan = result.plan else {
            let errors = result.diagnostics.count { $0.severity == .error }
            printError("\(file) is not valid: \(errors) error\(errors == 1 ? "" : "s")")
            throw ExitCode.failure
        }
        let counts = [("event", plan.events), ("page", plan.pages), ("screen", plan.screens)].compactMap { noun, list in
            list.map { "\($0.count) \(noun)\($0.count == 1 ? "" : "s")" }
        }
        let traits = [("identify", plan.identify), ("group", plan.group)].compactMap { name, traits in
            traits.map { _ in name }
        }
        print("\(file) is valid: \((counts + traits).joined(separator: ", "))")
    }
}
