import ArgumentParser
import ConfigurationSyntax
import Foundation
import PlanGeneration

struct PlanGenerate: ParsableCommand {
    enum Language: String, ExpressibleByArgument, CaseIterable { case swift }

    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Generate code with typed events from a tracking plan.",
        discussion: """
            The same plan always gives the same code. The code uses the module Penstock. An application that is built \
            with SwiftPM can use the plugin GenerateTrackingPlan instead, which generates the code in each build.

            Exit status: 0 written, 1 the plan is not valid or the file cannot be written.

            Examples:
              penstock plan generate --language swift --output Shop.swift plans/shop.yaml
            """)

    @Option(help: "The language of the code.")
    var language: Language

    @Option(help: ArgumentHelp("The file to write. Default: stdout.", valueName: "file"), completion: .file())
    var output: String?

    @Argument(help: "The tracking plan, a YAML file.", completion: .configurationFile)
    var file: String

    func run() throws {
        let result = SwiftGenerator.generate(from: file)
        for diagnostic in result.diagnostics { printError(diagnostic.description) }
        guard let text = result.text else { throw ExitCode.failure }
        guard let output else {
            print(text, terminator: "")
            return
        }
        do {
            try text.write(toFile: output, atomically: true, encoding: .utf8)
        } catch {
            printError("\(output): cannot be written: \(error.localizedDescription)")
            throw ExitCode.failure
        }
    }
}
