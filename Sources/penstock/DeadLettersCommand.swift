import ArgumentParser
import Control
import Foundation

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "What a destination refused for good.",
        subcommands: [DeadLettersList.self])
}

struct DeadLettersList: ParsableCommand {
    private static let endings: Endings = [0: "listed", 1: "there is no such destination, or no daemon"]
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a destination's dead letters, oldest first.", discussion: "\(endings)")

    @OptionGroup var control: ControlOption

    @Argument(help: "The destination's name.")
    var destination: String

    @Flag(help: "Print each as a line of JSON.")
    var json = false

    func run() throws {
        let answer = try ControlClient(socket: control.path).get("/dead-letters", query: ["destination": destination])
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        if json {
            print(String(decoding: answer.body, as: UTF8.self), terminator: "")
            return
        }
        let lines = try answer.body.split(separator: UInt8(ascii: "\n"))
            .map { try JSONDecoder().decode(DeadLetterLine.self, from: Data($0)) }
        if lines.isEmpty {
            printError("\(destination) has no dead letters")
            return
        }
        var table = TextTable(">POSITION", "TIME", ">ATTEMPTS", "MESSAGE ID", "REASON", "ANSWER")
        for line in lines {
            table.add("\(line.position)", line.time, "\(line.attempts)", line.messageID, line.reason, line.answer)
        }
        print(table.render(), terminator: "")
    }
}
