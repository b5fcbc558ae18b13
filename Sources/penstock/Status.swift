import ArgumentParser
import Control

struct Status: ParsableCommand {
    private static let endings: Endings = [0: "healthy", 1: "degraded", 2: "not running", 3: "no permission"]

    static let configuration = CommandConfiguration(
        abstract: "Show how the daemon, its journal and its destinations are.",
        discussion: """
            The daemon is degraded when there is a reason to look: each is a line below the first one. Reasons are a journal \
            that cannot be written or is full; a thread without progress for 5 s; a refused reload, while the files \
            differ from what runs; a destination that is not up, or that is more than a minute behind and further than a \
            minute ago; and, of the last 5 minutes, dead letters and events refused for a limit or a full disk.

            \(endings)
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
