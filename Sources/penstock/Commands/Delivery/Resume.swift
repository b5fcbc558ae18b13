import ArgumentParser
import Control
import Platform

struct Resume: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "the destination tries again now, or does not wait", 1: "there is no such destination", 2: "not running",
        3: "no permission",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Make a destination that is held or retrying try again now.",
        discussion: """
            A destination is held when its service refuses the credential, and retrying when a batch could not be \
            delivered. It then waits before the next attempt, up to retry.max. This command ends the wait for live \
            events, for a replay and for retried dead letters. If the attempt fails, the destination waits again. A \
            reload that changes the destination or its credentials also ends the wait.

            \(exitCodes)
            """)

    @OptionGroup var control: ControlOption

    @Argument(help: "The destination's name.", completion: .runningDestination)
    var destination: String

    @Flag(help: "Print the answer as JSON.")
    var json = false

    func run() throws {
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).post("/resume", query: ["destination": destination])
        } catch {
            printError("\(error)")
            throw Self.exitCodes[error.code == .permissionDenied ? 3 : 2]
        }
        guard answer.isSuccess else {
            printError(answer.error)
            throw Self.exitCodes[1]
        }
        let report = try answer.decode(ResumeReport.self)
        if json { return print(String(decoding: answer.body, as: UTF8.self), terminator: "") }
        let name = report.destination.withControlCharactersEscaped
        print(
            report.resumed
                ? "\(name) was \(report.state.rawValue) and tries again now: see penstock status for the result"
                : "\(name) is \(report.state.rawValue): it does not wait for another attempt")
    }
}
