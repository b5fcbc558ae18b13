// penstock: the command line tool for operators and shell scripts. One file per subcommand. Commands are thin: they
// parse arguments, call the daemon or one of its rooms, and print. Results are written to stdout, diagnostics to
// stderr.

import ArgumentParser
import Assembly

@main
struct Penstock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "penstock",
        abstract: "Send analytics events to the Penstock daemon, and manage it.",
        discussion: """
            Examples:
              penstock track "Order Completed" --user u1 -p total=12.5
              penstock send --acks events.ndjson
              penstock check && systemctl reload penstock
              penstock explain --where 'event = "Order Completed"'
              penstock status
              penstock tap --destination archive | jq .event
              penstock replay archive --from 7d --dry-run
              penstock dead-letters list archive
            """,
        version: Release.version,
        groupedSubcommands: [
            CommandGroup(
                name: "Events",
                subcommands: [Send.self, Track.self, Identify.self, Page.self, Screen.self, Group.self, Alias.self]),
            CommandGroup(
                name: "Configuration",
                subcommands: [
                    Check.self, Diff.self, Test.self, Explain.self, PresetsCommand.self, PluginsCommand.self,
                    PlanCommand.self,
                ]),
            CommandGroup(
                name: "Operation",
                subcommands: [
                    Status.self, Top.self, Open.self, Tap.self, Reload.self, Resume.self, Replay.self,
                    DeadLettersCommand.self,
                ]),
            CommandGroup(name: "Journal", subcommands: [JournalCommand.self]),
        ])
}
