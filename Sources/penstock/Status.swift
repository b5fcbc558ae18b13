import ArgumentParser
import Control

struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show how the daemon, its journal and its destinations are.",
        discussion: "Exit status: 0 healthy, 1 degraded, 2 not running.")

    @OptionGroup var control: ControlOption

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).get("/status")
        } catch {
            printError("\(error)")
            throw ExitCode(2)
        }
        guard answer.isSuccess else {
            printError(answer.error)
            throw ExitCode(2)
        }
        let report = try answer.decode(StatusReport.self)
        if json {
            print(String(decoding: answer.body, as: UTF8.self), terminator: "")
        } else {
            print(StatusText.render(report, color: stdoutTakesColour), terminator: "")
        }
        if report.health == .degraded { throw ExitCode(1) }
    }
}
