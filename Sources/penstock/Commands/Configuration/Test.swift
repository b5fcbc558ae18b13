import ArgumentParser
import DaemonConfiguration
import Explanation
import Foundation
import Platform

struct Test: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "all passed", 1: "some failed", 2: "a file is not valid, or there are no tests",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Run the tests of the configuration.",
        discussion: """
            A test gives the input events and the expected output of each destination: events, complete HTTP requests, \
            or nothing. The clock does not advance, secrets have the values that the test file gives, and nothing is \
            sent.

            \(exitCodes)

            Examples:
              penstock test
              penstock test --config ./penstock.yaml --junit report.xml tests/archive.yaml
            """)

    @Option(
        name: .customLong("config"), help: "The configuration file; conf.d/*.yaml beside it is read, too.",
        completion: .configurationFile)
    var file = Locations.configuration

    @Option(help: "Also write a JUnit report to this file.", completion: .file())
    var junit: String?

    @Argument(help: "The test files. Default: tests/*.yaml beside the configuration.", completion: .configurationFile)
    var tests: [String] = []

    func run() throws {
        let paths = try tests.isEmpty ? Self.testsBeside(file) : tests
        var isValid = true
        func report(_ diagnostics: [Diagnostic]) {
            for diagnostic in diagnostics {
                printError(diagnostic.description)
                if diagnostic.severity == .error { isValid = false }
            }
        }
        var reports: [TestReport] = []
        var configurationErrors: [Diagnostic] = []
        for read in paths.map(TestFileResult.load) {
            // Each test file has its own secrets, so the configuration is loaded again for each.
            let loaded = ConfigurationLoader.withStandIns(read.secrets).load(file: file)
            if configurationErrors.isEmpty { configurationErrors = loaded.errors }
            // Report the errors of all files, not just the first.
            let problems = loaded.configuration.map(read.diagnostics(in:)) ?? read.diagnostics
            report(problems)
            if let configuration = loaded.configuration, let tests = read.file, isValid {
                reports.append(TestReport(tests, under: configuration))
            }
        }
        report(configurationErrors)
        guard isValid else { throw Self.exitCodes[2] }
        for report in reports { print(TestText(ANSIStyle(isOn: stdoutTakesColour)).render(report)) }
        print(TestReport.summary(reports))
        if let junit { try write(JUnitReport.render(reports), to: junit) }
        if reports.contains(where: { $0.failed > 0 }) { throw Self.exitCodes[1] }
    }

    private static func testsBeside(_ file: String) throws -> [String] {
        let directory = (file.contains("/") ? (file as NSString).deletingLastPathComponent : ".") + "/tests"
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).filter {
            $0.hasSuffix(".yaml") && !$0.hasPrefix(".")
        }
        guard !names.isEmpty else {
            printError("there are no tests: \(directory) contains no .yaml file")
            throw Self.exitCodes[2]
        }
        return names.sorted().map { directory + "/" + $0 }
    }

    private func write(_ text: String, to file: String) throws {
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        } catch {
            let directory = URL(fileURLWithPath: file).deletingLastPathComponent().path
            let isThere = FileManager.default.fileExists(atPath: directory)
            printError(
                "\(file) cannot be written: "
                    + "\(isThere ? error.localizedDescription : "there is no directory \(directory)")"
            )
            throw Self.exitCodes[2]
        }
    }
}
