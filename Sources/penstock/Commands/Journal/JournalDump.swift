import ArgumentParser
import Events
import Journal
import Platform

struct JournalDump: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "printed", 2: "unreadable"]

    static let configuration = CommandConfiguration(
        commandName: "dump", abstract: "Print the events of the journal, one JSON object per line.",
        discussion: """
            Positions that cannot be read are skipped and reported on stderr. A position is a number. A time is \
            2026-01-31 or 2026-01-31T12:00:00Z.

            \(exitCodes)

            Examples:
              penstock journal dump --from 2026-01-31 --limit 10
              penstock journal dump --raw --from 48210 --until 48220
              penstock journal dump --dead-letters archive
            """)

    /// A position (`48210`) or a time.
    struct Bound: ExpressibleByArgument {
        var bound: DumpRange.Bound

        init?(argument: String) {
            if let position = UInt64(argument) {
                bound = .position(position)
            } else if let time = Timestamp.parse(argument) {
                bound = .time(time)
            } else {
                return nil
            }
        }
    }

    @OptionGroup var journal: JournalOption

    @Option(
        help: ArgumentHelp(
            "The first position (48210) or the earliest receive time (2026-01-31 or 2026-01-31T12:00:00Z).",
            valueName: "position|time"))
    var from: Bound?

    @Option(help: ArgumentHelp("The end, exclusive.", valueName: "position|time"))
    var until: Bound?

    @Option(help: "The maximum number of events.")
    var limit: Int?

    @Flag(help: "Print only the event as the client sent it.")
    var raw = false

    @Option(
        help: ArgumentHelp("Print the dead letters of this destination instead.", valueName: "destination"),
        completion: .configuredDestination)
    var deadLetters: String?

    @Flag(help: "Accepted for consistency; the output is always JSON.")
    var json = false

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit cannot be below 0") }
    }

    func run() throws {
        if limit == 0 { return }
        let range = DumpRange(from: from?.bound, until: until?.bound)
        var output = ResultStream()
        let isTerminal = StandardStream.output.isTerminal
        var rest = limit ?? .max
        func goesOn(_ line: [UInt8]) -> Bool {
            output.write(isTerminal ? TerminalJSON.escaped(line) : line)
            rest -= 1
            return rest > 0 && !output.hasFailed
        }
        try journal.read { journal in
            if let deadLetters {
                try journal.forEachDeadLetter(of: deadLetters, in: range) {
                    goesOn(raw ? Self.line($0.event) : Self.line($0))
                }
            } else {
                try journal.forEachEvent(in: range, onGap: Self.tell) {
                    goesOn(raw ? Self.line($0.json) : Self.line($0))
                }
            }
        }
        try output.finish()
    }

    private static func tell(_ gap: Range<UInt64>) {
        printError(
            "positions \(gap.lowerBound) to \(gap.upperBound) (exclusive) are missing: "
                + "see penstock journal verify for the reason"
        )
    }

    private static func line(_ event: DumpedEvent) -> [UInt8] {
        var line = Array("{\"position\":\(event.position),\"received_at\":\"".utf8)
        Timestamp.append(event.receivedAt, to: &line)
        line += Array("\",\"source\":".utf8)
        JSONText.appendString(event.origin.source, to: &line)
        if let host = event.origin.host, !host.isEmpty {
            line += Array(",\"host\":".utf8)
            JSONText.appendString(host, to: &line)
        }
        if event.firstReceivedAt != event.receivedAt {
            line += Array(",\"first_received_at\":\"".utf8)
            Timestamp.append(event.firstReceivedAt, to: &line)
            line.append(UInt8(ascii: "\""))
        }
        let peer = event.origin
        line += Array(",\"peer\":{\"uid\":\(peer.uid),\"gid\":\(peer.gid),\"pid\":\(peer.pid)},\"event\":".utf8)
        append(event.json, to: &line)
        line += Array("}\n".utf8)
        return line
    }

    private static func line(_ letter: StoredDeadLetter) -> [UInt8] {
        var line = Array("{\"position\":\(letter.position),\"time\":\"".utf8)
        Timestamp.append(letter.time, to: &line)
        line += Array("\",\"attempts\":\(letter.attempts)".utf8)
        for (key, text) in [("messageId", letter.messageID), ("reason", letter.reason), ("answer", letter.answer)] {
            line += Array(",\"\(key)\":".utf8)
            JSONText.appendString(text, to: &line)
        }
        line += Array(",\"event\":".utf8)
        append(letter.event, to: &line)
        line += Array("}\n".utf8)
        return line
    }

    private static func line(_ json: [UInt8]) -> [UInt8] {
        var line: [UInt8] = []
        append(json, to: &line)
        line.append(0x0A)
        return line
    }

    /// Appends JSON on one line. Line breaks can only occur between JSON tokens, where a space is equivalent.
    private static func append(_ json: [UInt8], to line: inout [UInt8]) {
        let start = line.count
        line += json
        for index in start..<line.count where line[index] == 0x0A || line[index] == 0x0D { line[index] = 0x20 }
    }
}
