import ArgumentParser
import Control
import Platform

struct DeadLettersShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show dead letters in full, with their events.",
        discussion: """
            Exit status: 0 shown, 1 there is no such dead letter, 2 the daemon cannot be reached.

            Examples:
              penstock dead-letters show archive 48210
            """)

    @OptionGroup var options: DeadLetterOptions

    @Flag(help: "Print one JSON object per line, with the event as a string.")
    var json = false

    func run() throws {
        var output = ResultStream()
        var count = 0
        try options.forEach(withEvents: true) { letter in
            if json {
                try options.print(letter, to: &output)
            } else {
                output.write(Self.text(letter, isFirst: count == 0))
            }
            count += 1
            return !output.hasFailed
        }
        try output.finish()
        guard count > 0 else {
            throw ReportedError(
                "\(options.destination) has no such dead letter: see penstock dead-letters list \(options.destination)")
        }
    }

    private static func text(_ letter: DeadLetterLine, isFirst: Bool) -> String {
        var text = isFirst ? "" : "\n"
        text += "position   \(letter.position)\n"
        text += "message id \(letter.messageID.withControlCharactersEscaped)\n"
        if let received = letter.received { text += "received   \(received)\n" }
        text += "given up   \(letter.time), \(letter.attempts) attempt\(letter.attempts == 1 ? "" : "s")\n"
        text += "reason     \(letter.reason.withControlCharactersEscaped)\n"
        if !letter.answer.isEmpty { text += "answer     \(letter.answer.withControlCharactersEscaped)\n" }
        return text + "event      \((letter.event ?? "").withControlCharactersEscaped)\n"
    }
}
