import Foundation
import Platform

/// A client that speaks the socket's protocol directly. One thread at a time.
final class EventClient: @unchecked Sendable {
    private weak var daemon: TestDaemon?
    private let stream: UnixStream
    private var unread: [UInt8] = []

    /// - Parameter socket: nil: the daemon's first socket.
    init(_ daemon: TestDaemon, socket: String? = nil, acknowledgements: Bool = true) throws {
        self.daemon = daemon
        stream = try UnixStream(connectingTo: socket ?? daemon.events)
        if acknowledgements { try send(#"{"penstock":{"acks":true}}"# + "\n") }
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let ready = try stream.wait(toWrite: true, timeout: .seconds(60))
            guard ready.canWrite || ready.canRead else {
                // The daemon is gone when somebody reads this.
                let status = (try? daemon?.penstock("status").output) ?? "no status"
                throw Failure("cannot write for 60 s: \(status)\(daemon?.log ?? "")")
            }
            // The daemon may answer while it takes no more.
            if !ready.canWrite {
                let answers = try stream.read(upTo: 64 << 10)
                if answers.isEmpty { throw Failure("the daemon has ended the connection") }
                unread += answers
                continue
            }
            done += try stream.write(bytes.span.extracting(done..<bytes.count))
        }
    }

    /// Sends the line again and again until the daemon has read nothing for a second.
    func sendUntilBlocked(_ line: String) throws {
        let bytes = Array(String(repeating: line + "\n", count: 1000).utf8)
        let clock = SystemClock()
        var last = clock.now()
        while clock.now() - last < .seconds(1) {
            if try stream.write(bytes.span) > 0 { last = clock.now() } else { usleep(5000) }
        }
    }

    /// Ends the sending side. Answers can still be read.
    func finish() {
        stream.finishWriting()
    }

    /// The daemon's next line. Nil: the connection has ended.
    func line() throws -> String? {
        while true {
            if let feed = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeSubrange(...feed) }
                return String(decoding: unread[..<feed], as: UTF8.self)
            }
            guard try stream.wait(toWrite: false, timeout: .seconds(60)).canRead else {
                throw Failure("no answer for 60 s")
            }
            let bytes = try stream.read(upTo: 64 << 10)
            if bytes.isEmpty { return nil }
            unread += bytes
        }
    }

    /// Reads until `lines` are acknowledged, or the connection ends.
    /// - Returns: the highest acknowledged line, and the refusals so far.
    func acknowledgement(of lines: Int) throws -> (lines: Int, refusals: [String]) {
        var acknowledged = 0
        var refusals: [String] = []
        while acknowledged < lines, let line = try line() {
            if line.hasPrefix("{\"ack\":"), let number = Int(line.dropFirst(7).dropLast()) {
                acknowledged = number
            } else {
                refusals.append(line)
            }
        }
        return (acknowledged, refusals)
    }
}

/// A track event that its number identifies.
func event(_ number: Int, name: String = "Tested", fields: String = "") -> String {
    let id = "m-" + String(repeating: "0", count: max(0, 7 - String(number).count)) + String(number)
    return #"{"type":"track","event":"\#(name)","userId":"u","messageId":"\#(id)"\#(fields)}"#
}

/// Events with these numbers, one per line.
func events(_ numbers: Range<Int>) -> String {
    numbers.map { event($0) + "\n" }.joined()
}

/// The number of an event that `event(_:)` made, found anywhere in a line.
func number(in line: some StringProtocol) -> Int? {
    guard let at = line.range(of: #""messageId":"m-"#) else { return nil }
    return Int(line[at.upperBound...].prefix(7))
}
