import ArgumentParser
import Control

struct Status: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "healthy", 1: "degraded", 2: "not running", 3: "no permission"]

    static let configuration = CommandConfiguration(
        abstract: "Show the health of the daemon, its sources, journal and destinations.",
        discussion: """
            The daemon is healthy or degraded. If it is degraded, the lines below the first line give the reasons, the \
            most urgent first. The daemon is degraded while one of these conditions holds:
              - The journal is full or cannot be written.
              - Damage of the journal's files lost events, and the copies of the damaged bytes are still in quarantine/.
              - A thread has made no progress for 5 s.
              - A reload was refused, and the configuration files still differ from the running configuration.
              - A source refused events in the last 5 minutes because the journal is full.
              - A source plugin is not up, or its events were refused in the last 5 minutes.
              - A limit of a source closed or turned away clients in the last 5 minutes.
              - Clients wait to be accepted because the daemon is short of file descriptors.
              - A destination is not up.
              - A destination is more than a minute behind, and its lag grows.
              - A destination got dead letters in the last 5 minutes.

            \(exitCodes)

            Examples:
              penstock status
              penstock status --json | jq .destinations.archive.lag_seconds
            """)

    @OptionGroup var control: ControlOption

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).get("/status")
        } catch {
            printError("\(error)")
            throw Self.exitCodes[error.code == .permissionDenied ? 3 : 2]
        }
        guard answer.isSuccess else {
            printError(answer.error)
            throw Self.exitCodes[2]
        }
        let report = try answer.decode(StatusReport.self)
        if json {
            print(String(decoding: answer.body, as: UTF8.self), terminator: "")
        } else {
            print(StatusText.render(report, color: stdoutTakesColour), terminator: "")
        }
        if report.health == .degraded { throw Self.exitCodes[1] }
    }
}
