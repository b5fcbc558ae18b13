import ArgumentParser
import Daemon

struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Validate the configuration, secrets and plugins included.",
        discussion: "Changes nothing and touches no live socket. Exit status: 0 valid, 1 not.")

    @Option(name: .customLong("config"), help: "The configuration; conf.d beside it is read, too.")
    var file = Locations.configuration

    func run() throws {
        let (findings, summary) = ConfigurationCheck.run(file: file, pluginDirectories: Installation.pluginDirectories)
        for finding in findings { printError(finding.text) }
        guard let summary else {
            let errors = findings.count(where: \.isError)
            printError("\(file) is not valid: \(errors) error\(errors == 1 ? "" : "s")")
            throw ExitCode.failure
        }
        print("\(file) is valid: \(summary)")
    }
}
