import Foundation
import Glibc
import Synchronization

/// A socket whose other end is a test: it reads lines and answers as the test specifies.
final class ScriptedDaemon: Sendable {
    /// The answer to a line.
    enum Reply: Sendable {
        /// Acknowledges the line and all lines before it.
        case acknowledge
        case refuse(reason: String)
        case say(String)
        case nothing
        /// Closes the connection.
        case hangUp
    }

    private struct State {
        var lines: [String] = []
        var connections = 0
        var isOver = false
    }

    let directory: String
    var socket: String { directory + "/events.sock" }
    private let listener: Int32
    private let state = Mutex(State())

    /// - Parameter reply: the answer to a line. Lines count from 1 within a connection, without the control line;
    ///   connections count from 1, too.
    init(_ reply: @escaping @Sendable (_ line: String, _ number: Int, _ connection: Int) -> Reply) throws {
        directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        listener = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = directory + "/events.sock"
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let failed = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) != 0 || listen(listener, 8) != 0
            }
        }
        guard !failed else { throw Failure("cannot listen at \(path)") }
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0 || state.withLock({ $0.isOver }) { break }
                serve(
                    connection,
                    state.withLock { state in
                        state.connections += 1
                        return state.connections
                    }, reply)
                close(connection)
            }
        }
    }

    /// Stops listening.
    func stop() {
        state.withLock { $0.isOver = true }
        shutdown(listener, Int32(SHUT_RDWR))
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The lines of all connections, without control lines.
    var lines: [String] { state.withLock { $0.lines } }
    var connections: Int { state.withLock { $0.connections } }

    private func serve(_ connection: Int32, _ number: Int, _ reply: (String, Int, Int) -> Reply) {
        var buffer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        var count = -1
        while true {
            let got = unsafe recv(connection, &chunk, chunk.count, 0)
            if got <= 0 { return }
            buffer += chunk[..<got]
            while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeSubrange(...end)
                count += 1
                if count == 0 {
                    guard line == #"{"penstock":{"acks":true}}"# else { return }
                    continue
                }
                let lineNumber = count
                state.withLock { $0.lines.append(line) }
                switch reply(line, lineNumber, number) {
                case .acknowledge: send(connection, #"{"ack":\#(lineNumber)}"#)
                case .refuse(let reason):
                    send(
                        connection,
                        #"{"refused":{"line":\#(lineNumber),"messageId":"m","reason":"\#(reason)","detail":"so \"it\" is"}}"#
                    )
                    send(connection, #"{"ack":\#(lineNumber)}"#)
                case .say(let text): send(connection, text)
                case .nothing: break
                case .hangUp: return
                }
            }
        }
    }

    private func send(_ connection: Int32, _ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}

struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// Polls until the condition holds. Fails after a generous timeout.
func eventually(_ what: String, within time: Duration = .seconds(60), _ condition: () throws -> Bool) async throws {
    let end = ContinuousClock.now + time
    // Other tests may keep this one from running for a while.
    var looks = 0
    while try !condition() {
        looks += 1
        if ContinuousClock.now > end, looks > 500 { throw Failure("waited \(time) in vain: \(what)") }
        try await Task.sleep(for: .milliseconds(3))
    }
}
