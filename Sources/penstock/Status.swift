import ArgumentParser
import Control

struct Status: ParsableCommand {
    private static let endings: Endings = [0: "healthy", 1: "degraded", 2: "not running"]

    static let configuration = CommandConfiguration(
        abstract: "Show how the daemon, its journal and its destinations are.",
        discussion: "\(endings)")

    @OptionGroup var control: ControlOption

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).get("/status")
        } catch {
            printError("\(error)")
            throw Self.endings[2]
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
