// penstockd: the daemon's program. Thin: it reads its arguments and lets the Daemon room work.

import ArgumentParser
import Daemon

@main
struct Penstockd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "penstockd",
        abstract: "Take analytics events from local processes, make them durable, and route them to their destinations.",
        discussion: """
            Runs in the foreground and logs to stderr. SIGHUP reads the configuration again, SIGTERM \
            drains and ends. Exit status: 0 after an orderly end, 78 for an invalid configuration, 1 \
            for what else keeps it from starting.
            """,
        version: Daemon.version)

    @Option(name: .customLong("config"), help: "The configuration; conf.d beside it is read, too.")
    var configurationFile = "/etc/penstock/penstock.yaml"

    func run() throws {
        let status = Daemon.run(
            Daemon.Options(configurationFile: configurationFile, pluginDirectories: Installation.pluginDirectories))
        if status != 0 { throw ExitCode(status) }
    }
}
