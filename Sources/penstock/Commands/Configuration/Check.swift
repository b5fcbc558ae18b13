import ArgumentParser
import Assembly
import ConfigurationSyntax
import Explanation
import Foundation

struct Check: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "the configuration is valid", 1: "it has errors, or warnings with --deny-warnings",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Validate the configuration, with its secrets and plugins.",
        discussion: """
            Changes nothing and opens no live socket. Prints errors and warnings to stderr. Then prints a summary of \
            the configuration, and each file that was read or skipped, to stdout. A configuration with an error is \
            refused. A warning points out a probable mistake and does not refuse the configuration; penstock.yaml(5) \
            lists the warnings.

            With --json, prints one object to stdout: file, valid, errors and warnings (their numbers), summary \
            (sources, routes, destinations), files, unread (file, reason) and diagnostics (severity, file, line, \
            column, length, message, hint, note).

            With --schema, prints the JSON Schema of the configuration instead. With the first line \
            "# yaml-language-server: $schema=/usr/share/penstock/penstock.schema.json", editors complete and explain \
            the keys.

            \(exitCodes)

            Examples:
              penstock check
              penstock check --config ./penstock.yaml --deny-warnings
              penstock check --json | jq '.diagnostics[].message'
            """)

    @Option(
        name: .customLong("config"), help: "The configuration file; conf.d/*.yaml beside it is read, too.",
        completion: .configurationFile)
    var file = Locations.configuration

    @Flag(help: "Exit with status 1 if there are warnings.")
    var denyWarnings = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Print the JSON Schema of the configuration and check nothing.")
    var schema = false

    func run() throws {
        if schema {
            print(ConfigurationSchema.text, terminator: "")
            return
        }
        let report = ConfigurationCheck.run(file: file, pluginDirectories: Installation.pluginDirectories)
        if json { try printJSON(report) } else { show(report) }
        if !report.isValid || (denyWarnings && report.warnings > 0) { throw Self.exitCodes[1] }
    }

    private func printJSON(_ report: CheckReport) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(report), as: UTF8.self))
    }

    private func show(_ report: CheckReport) {
        for diagnostic in report.diagnostics { printError(diagnostic.description) }
        if let summary = report.summary {
            print("\(file) is valid: \(summary)")
        } else {
            printError("\(file) is not valid: \(report.counts)")
        }
        if denyWarnings, report.isValid, report.warnings > 0 {
            printError("\(file) is refused: \(report.counts), and --deny-warnings is set")
        }
        for path in report.files { print("read: \(path)") }
        for file in report.unread { print("not read: \(file.path) (\(file.reason))") }
    }
}
