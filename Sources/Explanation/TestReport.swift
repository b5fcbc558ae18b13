import DaemonConfiguration

/// The results of one test file.
package struct TestReport: Sendable {
    package var file: String
    package var outcomes: [TestOutcome]

    package var failed: Int { outcomes.count { !$0.holds } }

    /// Runs every test of a file.
    package init(_ file: TestFile, under configuration: Configuration) {
        self.file = file.path
        outcomes = file.tests.map { ConfigurationTestRun.run($0, of: file, under: configuration) }
    }

    package static func summary(_ reports: [TestReport]) -> String {
        let tests = reports.reduce(0) { $0 + $1.outcomes.count }
        let failed = reports.reduce(0) { $0 + $1.failed }
        return "\(tests) test\(tests == 1 ? "" : "s"), " + (failed == 0 ? "all passed" : "\(failed) failed")
    }
}
