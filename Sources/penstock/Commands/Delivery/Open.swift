import ArgumentParser
import Control
import Platform

struct Open: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "the address is printed", 1: "the daemon has no page", 2: "not running", 3: "no permission",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Print the address of the daemon's page, with the token that it asks for.",
        discussion: """
            The page shows events as they pass, the journey of one event, deliveries over time, dead letters, the \
            routing graph and the running configuration. It is off unless the configuration has control: { page: \
            127.0.0.1:9378 }.

            The token is in the address's fragment (#token=…), which a browser sends to nobody. Whoever has it can \
            use the page: do not put it into a ticket or a chat.

            To open the page of another machine, tunnel its port first: ssh -L 9378:127.0.0.1:9378 HOST.

            \(exitCodes)

            Examples:
              penstock open
              ssh -L 9378:127.0.0.1:9378 HOST sudo penstock open
            """)

    @OptionGroup var control: ControlOption

    @Flag(help: "Print the answer as JSON.")
    var json = false

    func run() throws {
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).get("/page")
        } catch {
            printError("\(error)")
            throw Self.exitCodes[error.code == .permissionDenied ? 3 : 2]
        }
        guard answer.isSuccess else {
            printError(answer.error)
            throw Self.exitCodes[1]
        }
        if json { return print(String(decoding: answer.body, as: UTF8.self), terminator: "") }
        let report = try answer.decode(PageReport.self)
        guard let url = report.url else {
            let socket = report.socket ?? ""
            print("the page is at the socket \(socket.withControlCharactersEscaped); to open it from another machine:")
            print("ssh -L 9378:\(socket.withControlCharactersEscaped) HOST    # then open http://localhost:9378/")
            return
        }
        print(url + (report.token.map { "#token=" + $0 } ?? ""))
    }
}
