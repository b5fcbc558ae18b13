import Glibc
import Platform

/// A blocking connection that sends an HTTP client's bytes exactly as given. One thread may write while another one
/// reads the answers.
final class HTTPConnection: @unchecked Sendable {
    struct Answer: Equatable {
        var status: Int
        /// By their names in lower case.
        var fields: [String: String]
        var body: String
    }

    private let socket: Int32
    /// Belongs to the thread that reads.
    private var unread: [UInt8] = []

    /// Connects to a port of this machine. Each write is sent at once.
    init(port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var isOn: Int32 = 1
        unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        try begin(status, "port \(port)")
    }

    init(unixSocket path: String) throws {
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8.prefix(107)) }
        let status = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try begin(status, path)
    }

    deinit { close(socket) }

    private func begin(_ status: Int32, _ place: String) throws {
        if status != 0 { throw SystemError("connect", place) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { throw SystemError("send") }
            sent += count
        }
    }

    /// Ends the sending side. Answers can still be read.
    func finish() { shutdown(socket, Int32(SHUT_WR)) }

    /// Waits until the daemon has read everything that was sent. Only on a Unix socket: there, the kernel counts the
    /// bytes that the peer did not read.
    func waitUntilRead() throws {
        let outputQueue: UInt = 0x5411  // TIOCOUTQ
        try eventually("the daemon reads") {
            var bytes: Int32 = 0
            let status = unsafe withUnsafeMutablePointer(to: &bytes) { unsafe ioctl(socket, outputQueue, $0) }
            if status != 0 { throw SystemError("ioctl") }
            return bytes == 0
        }
    }

    /// The next answer to a request that was not HEAD. Nil: the connection has ended.
    func answer() throws -> Answer? {
        while true {
            if let answer = takeAnswer() { return answer }
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            let count = unsafe recv(socket, &chunk, chunk.count, 0)
            if count < 0 && errno == EINTR { continue }
            if count == 0 || (count < 0 && errno == ECONNRESET) { return nil }
            if count < 0 { throw SystemError("recv") }
            unread += chunk[..<count]
        }
    }

    private func takeAnswer() -> Answer? {
        guard let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: unread[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        let length = fields["content-length"].flatMap { Int($0) } ?? 0
        guard unread.count - end.upperBound >= length else { return nil }
        let body = String(decoding: unread[end.upperBound..<end.upperBound + length], as: UTF8.self)
        unread.removeFirst(end.upperBound + length)
        return Answer(status: Int(lines[0].split(separator: " ")[1]) ?? 0, fields: fields, body: body)
    }

    // MARK: Requests

    /// - Parameter fields: more header fields, each with its CR LF.
    static func post(_ path: String, _ body: String, fields: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(TestDaemon.writeKey)\r\n\(fields)"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// A batch of the events with these numbers.
    static func batch(_ numbers: Range<Int>, fields: String = "") -> String {
        post("/v1/batch", #"{"batch":["# + numbers.map { event($0) }.joined(separator: ",") + "]}", fields: fields)
    }
}
