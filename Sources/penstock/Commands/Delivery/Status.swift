import ArgumentParser
import Control

struct Status: ParsableCommand {
    private static let endings: ExitCodes = [0: "healthy", 1: "degraded", 2: "not running", 3: "no permission"]

    static let configuration = CommandConfiguration(
        abstract: "Show the health of the daemon, its sources, journal and destinations.",
        discussion: """
            The daemon is healthy or degraded. Below the first line, each line gives one reason for degraded: the \
            journal is full or cannot be written; a thread has made no progress for 5 s; a reload was refused, and the \
            files still differ from the running configuration; a destination is not up; a destination is more than a \
            minute behind, and its lag grows; within the last 5 minutes there were dead letters, events refused \
            because of a rate limit or a full journal, or clients turned away by a limit; or clients wait to be \
            accepted.

            \(endings)

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
            throw Self.endings[error.code == .permissionDenied ? 3 : 2]
        }
        guard answer.isSuccess else {
            printError(answer.error)
            throw Self.endings[2]
        }
        let report = try answer.decode(StatusReport.self)
        if json {
            print(String(decoding: answer.body, as: UTF8.self), terminator: "")
        } else {
            print(StatusText.render(report, color: stdoutTakesColour), terminator: "")
        }
        if report.health == .degraded { throw Self.endings[1] }
    }
}
