import ArgumentParser
import Control
import Foundation
import Platform

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "List, retry or drop events that a destination rejected.",
        subcommands: [DeadLettersList.self, DeadLettersShow.self, DeadLettersRetry.self, DeadLettersDrop.self])
}

/// Selects dead letters of one destination.
struct DeadLetterOptions: ParsableArguments {
    @OptionGroup var control: ControlOption

    @Argument(help: "The destination's name.", completion: .runningDestination)
    var destination: String

    @Argument(
        help: ArgumentHelp(
            "Only these dead letters, by journal position or message id.", valueName: "position|message-id"))
    var letters: [String] = []

    @Option(name: .customLong("where"), help: "Only dead letters whose event matches this filter (FQL).")
    var filter: String?

    /// The time limit of a request. It is long because the daemon may have to read all dead letters.
    private static let patience = Duration.seconds(120)

    func selection(chosen: [String]? = nil) throws -> DeadLetterSelection {
        if let filter { _ = try FilterArgument.parse(filter) }
        return DeadLetterSelection(
            destination: destination, chosen: chosen ?? (letters.isEmpty ? nil : letters), condition: filter)
    }

    /// Requests page after page and calls `body` with each letter.
    /// - Parameter body: returns false to stop.
    func forEach(withEvents: Bool = false, _ body: (DeadLetterLine) throws -> Bool) throws {
        var number: UInt64 = 0
        while true {
            let answer = try post("list", selection(), query: ["from": "\(number)", "events": "\(withEvents)"])
            let page = try answer.decode(DeadLetterPage.self)
            for letter in page.letters where try !body(letter) { return }
            guard let next = page.next else { return }
            number = next
        }
    }

    /// Posts an action.
    /// - Returns: the number of letters that it applied to.
    func count(_ action: String, _ selection: DeadLetterSelection) throws -> Int {
        try post(action, selection).decode(DeadLetterCount.self).letters
    }

    private func post(_ action: String, _ selection: DeadLetterSelection, query: [String: String] = [:]) throws
        -> ControlAnswer
    {
        let body = [UInt8](try JSONEncoder().encode(selection))
        let answer = try asking {
            try ControlClient(socket: control.path).post(
                "/dead-letters/\(action)", query: query, body: body, timeout: Self.patience)
        }
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        return answer
    }

    func print(_ letter: DeadLetterLine, to output: inout ResultStream) throws {
        let line = try letter.line()
        output.write(StandardStream.output.isTerminal ? TerminalJSON.escaped(line) : line)
    }
}

func counted(_ letters: Int) -> String { letters == 1 ? "1 dead letter" : "\(letters) dead letters" }
