import ArgumentParser
import Platform

struct Send: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "sent (with --acks: every event is on disk)",
        1: "not everything was sent, an event was refused, or the daemon made no progress in time",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Send events from a file or stdin, one JSON object per line.",
        discussion: """
            Without --acks, the command hands the events to the daemon and reports nothing about them. With --acks, it \
            waits until every event is on disk, and prints refusals with their line numbers to stderr. Consecutive \
            lines that are refused for the same reason are printed as one range.

            If stderr is a terminal, a line shows how many events were sent, how fast, and how many were refused.

            The command waits for a daemon that is slow or waits for disk space (when_full: block), as long as it \
            makes progress.

            \(exitCodes)

            Examples:
              penstock send --acks events.ndjson
              zcat events.ndjson.gz | penstock send --acks --timeout 1m
            """)

    @OptionGroup var socket: SocketOption

    @Flag(help: "Wait until every event is on disk, and print refusals.")
    var acks = false

    @Argument(help: "A file of NDJSON events, or - for stdin.", completion: .eventFile)
    var file = "-"

    func run() throws {
        let input = file == "-" ? try StandardStream.input.duplicate() : try FileDescriptor.openForReading(file)
        let size = try input.size()
        let session = try EventSession(socket, acknowledgements: acks)
        var progress = SendProgress(total: size, acknowledgements: acks)
        var refusals = RefusalRuns()
        func show(_ refusal: String?) {
            guard let refusal else { return }
            progress.clear()
            printError(refusal)
        }
        session.onRefusal = { show(refusals.add(line: $0.line, reason: $0.reason, detail: $0.detail)) }
        session.onQuiet = { [unowned session] in
            show(refusals.end())
            progress.show(session)
        }
        session.onPause = { [unowned session] in progress.show(session) }
        defer {
            progress.clear()
            show(refusals.end())
        }
        var lines: UInt64 = 0
        var last = UInt8(ascii: "\n")
        while true {
            // A pipe or a terminal may be silent for hours. Refusals are printed in the meantime.
            if size == nil { try session.waitForInput(input) }
            let bytes = try input.read(upTo: 64 << 10)
            guard let end = bytes.last else { break }
            try session.write(bytes)
            for byte in bytes where byte == UInt8(ascii: "\n") { lines += 1 }
            last = end
            progress.lines = lines
            progress.bytes += bytes.count
            progress.show(session)
        }
        if last != UInt8(ascii: "\n") {
            try session.write([UInt8(ascii: "\n")])
            lines += 1
        }
        try session.finish(lines: lines)
        progress.clear()
        show(refusals.end())
        guard acks else { return }
        if session.refusedLines > 0 {
            printError("\(session.refusedLines) of \(lines) lines were refused")
            throw Self.exitCodes[1]
        }
    }
}
