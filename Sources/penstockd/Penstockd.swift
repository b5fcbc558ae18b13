// penstockd: the daemon's program. It parses its arguments and runs the Daemon room. It contains no other logic.

import ArgumentParser
import Assembly
import Daemon

@main
struct Penstockd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "penstockd",
        abstract:
            "Take analytics events from local processes, make them durable, and route them to their destinations.",
        discussion: """
            Runs in the foreground and logs to stderr. SIGHUP reloads the configuration. SIGTERM stops \
            it: batches that are being sent get up to 10 s, and events that are not delivered stay in the journal.

            Exit status: 0 after an orderly stop, 78 for an invalid configuration, 1 for any other start failure.

            Examples:
              penstockd
              penstockd --config ./quickstart.yaml
            """,
        version: Release.version)

    @Option(
        name: .customLong("config"), help: "The configuration file; conf.d/*.yaml beside it is read, too.",
        completion: .file(extensions: ["yaml", "yml"]))
    var configurationFile = "/etc/penstock/penstock.yaml"

    func run() throws {
        let status = Daemon.run(
            Daemon.Options(configurationFile: configurationFile, pluginDirectories: Installation.pluginDirectories))
        if status != 0 { throw ExitCode(status) }
    }
}
