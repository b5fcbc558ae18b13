import ArgumentParser
import Glibc
import Platform

struct Send: ParsableCommand {
    private static let endings: Endings = [0: "sent; with --acks, every event is on disk", 1: "not all of it, or some were refused"]

    static let configuration = CommandConfiguration(
        abstract: "Send events from a file or stdin, one JSON object a line.",
        discussion: """
            Without --acks the events are handed to the daemon and nothing is said about them.
            With --acks the command waits until every event is on disk; refusals are printed to
            stderr with their line.

            \(endings)
            """)

    @OptionGroup var socket: SocketOption

    @Flag(help: "Wait until every event is on disk, and print refusals.")
    var acks = false

    @Argument(help: "A file of events, or - for stdin.")
    var file = "-"

    func run() throws {
        let input = file == "-" ? try FileDescriptor.duplicate(of: STDIN_FILENO) : try FileDescriptor.open(file, O_RDONLY)
        let session = try EventSession(socket: socket.path, acknowledgements: acks)
        var bar = ProgressBar(total: file == "-" ? nil : try input.size())
        session.onRefusal = { refused in
            bar.clear()
            printError("line \(refused.line): \(refused.reason): \(refused.detail)")
        }
        var lines: UInt64 = 0
        var sent = 0
        var last = UInt8(ascii: "\n")
        while true {
            let bytes = try input.read(upTo: 64 << 10)
            guard let end = bytes.last else { break }
            try session.write(bytes)
            for byte in bytes where byte == UInt8(ascii: "\n") { lines += 1 }
            last = end
            sent += bytes.count
            bar.show(done: sent, note: "\(lines) events")
        }
        if last != UInt8(ascii: "\n") {
            try session.write([UInt8(ascii: "\n")])
            lines += 1
        }
        try session.finish(lines: lines)
        bar.clear()
        guard acks else { return }
        if session.refusedLines > 0 {
            printError("\(session.refusedLines) of \(lines) lines were refused")
            throw Self.endings[1]
        }
    }
}
