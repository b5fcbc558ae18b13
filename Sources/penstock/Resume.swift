import ArgumentParser
import Control
import Platform

struct Resume: ParsableCommand {
    private static let endings: Endings = [
        0: "it is tried now, or nothing waits", 1: "there is no such destination", 2: "not running", 3: "no permission",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Try a destination now that is held or waits for its next attempt.",
        discussion: """
            A destination is held when its service refuses the credential, and retrying when a batch did not get \
            through; each waits before the next attempt, up to retry.max. This ends the wait, of live events, of a \
            replay and of retried dead letters. If the attempt fails, the destination waits as before. A reload that \
            changes the destination, its credentials included, tries it at once, too.

            \(endings)
            """)

    @OptionGroup var control: ControlOption

    @Argument(help: "The destination's name.")
    var destination: String

    @Flag(help: "Print the answer as JSON.")
    var json = false

    func run() throws {
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).post("/resume", query: ["destination": destination])
        } catch {
            printError("\(error)")
            throw Self.endings[error.code == .permissionDenied ? 3 : 2]
        }
        guard answer.isSuccess else {
            printError(answer.error)
            throw Self.endings[1]
        }
        let report = try answer.decode(ResumeReport.self)
        if json { return print(String(decoding: answer.body, as: UTF8.self), terminator: "") }
        let name = report.destination.withControlCharactersEscaped
        print(
            report.resumed
                ? "\(name) was \(report.state.rawValue) and is tried now: penstock status shows what comes of it"
                : "\(name) is \(report.state.rawValue): nothing waits for its next attempt")
    }
}
