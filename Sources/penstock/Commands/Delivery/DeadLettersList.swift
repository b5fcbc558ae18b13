import ArgumentParser
import Control

struct DeadLettersList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a destination's dead letters, oldest first.",
        discussion: """
            Exit status: 0 listed, 1 there is no such destination, 2 the daemon cannot be reached.

            Examples:
              penstock dead-letters list archive --limit 20
              penstock dead-letters list archive --json | jq -r .reason | sort | uniq -c
            """)

    @OptionGroup var options: DeadLetterOptions

    @Option(help: "The maximum number of dead letters.")
    var limit: Int?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// The most rows of the table, which is laid out in memory. --json has no limit.
    private static let tableLimit = 1000

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit cannot be below 1") }
    }

    func run() throws {
        if json {
            var output = ResultStream()
            var rest = limit ?? .max
            try options.forEach { letter in
                try options.print(letter, to: &output)
                rest -= 1
                return rest > 0 && !output.hasFailed
            }
            return try output.finish()
        }
        var lines: [DeadLetterLine] = []
        let most = min(limit ?? Self.tableLimit, Self.tableLimit)
        var hasMore = false
        try options.forEach { letter in
            hasMore = lines.count == most
            if !hasMore { lines.append(letter) }
            return !hasMore
        }
        guard !lines.isEmpty else { return printError("\(options.destination) has no dead letters") }
        var table = TextTable(">POSITION", "TIME", ">ATTEMPTS", "MESSAGE ID", "REASON", "ANSWER")
        for line in lines {
            table.add("\(line.position)", line.time, "\(line.attempts)", line.messageID, line.reason, line.answer)
        }
        Swift.print(table.render(), terminator: "")
        if hasMore { printError("only the first \(lines.count) are shown: --json prints all, --where selects") }
    }
}
