import ArgumentParser
import ConfigurationLanguage
import Daemon
import Explanation

struct Check: ParsableCommand {
    private static let endings: Endings = [0: "valid", 1: "not"]

    static let configuration = CommandConfiguration(
        abstract: "Validate the configuration, secrets and plugins included.",
        discussion: """
            Changes nothing and touches no live socket.

            With --schema it prints the configuration's JSON Schema instead, for editors: a first line \
            "# yaml-language-server: $schema=/usr/share/penstock/penstock.schema.json" has them complete \
            and explain keys.

            \(endings)
            """)

    @Option(name: .customLong("config"), help: "The configuration; conf.d beside it is read, too.")
    var file = Locations.configuration

    @Flag(help: "Print the JSON Schema of a configuration, and check nothing.")
    var schema = false

    func run() throws {
        if schema {
            print(ConfigurationSchema.text, terminator: "")
            return
        }
        let (diagnostics, summary) = ConfigurationCheck.run(file: file, pluginDirectories: Installation.pluginDirectories)
        for diagnostic in diagnostics { printError(diagnostic.description) }
        guard let summary else {
            let errors = diagnostics.count { $0.severity == .error }
            printError("\(file) is not valid: \(errors) error\(errors == 1 ? "" : "s")")
            throw Self.endings[1]
        }
        print("\(file) is valid: \(summary)")
    }
}
