import ArgumentParser
import ConfigurationLanguage
import Foundation
import PlanGeneration

struct PlanGenerate: ParsableCommand {
    enum Language: String, ExpressibleByArgument, CaseIterable { case swift }

    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Make typed events of a tracking plan.",
        discussion: """
            The same plan gives the same text. It is for the module Penstock; an application built with SwiftPM \
            has the plugin GenerateTrackingPlan do this in each build. Exit status: 0 written, 1 not.
            """)

    @Option(help: "The language of the code.")
    var language: Language

    @Option(help: ArgumentHelp("Where it is written; standard output, if not given.", valueName: "file"))
    var output: String?

    @Argument(help: "The plan, a YAML file.")
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
