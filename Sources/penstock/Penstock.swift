// penstock: the operator's and the shell's side of Penstock. One file a subcommand; thin: what is
// decided is decided in the daemon's rooms. Results go to stdout, diagnostics to stderr.

import ArgumentParser
import Daemon

@main
struct Penstock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "penstock",
        abstract: "Send analytics events to the Penstock daemon, and manage it.",
        version: Daemon.version,
        subcommands: [
            Check.self, Explain.self, Test.self, Status.self, Reload.self, Send.self, Track.self, Identify.self, Page.self,
            Screen.self, Group.self, Alias.self, DeadLettersCommand.self, Replay.self, Resume.self, JournalCommand.self, PlanCommand.self,
            PluginsCommand.self, PresetsCommand.self,
        ])
}
