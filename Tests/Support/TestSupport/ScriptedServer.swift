import Glibc
import Platform
import Synchronization

/// An HTTP/1.1 server that follows a script of correct and faulty replies: the first request gets the first reply, and
/// so on. The last reply is for all further requests. Each connection has its own thread. `stop` closes every
/// connection.
package final class ScriptedServer: @unchecked Sendable {
    package enum Reply: Sendable {
        case status(Int, headers: [String] = [], body: String = "")
        /// Sends these bytes and closes the connection.
        case raw(String)
        /// A 200 with a body of this many bytes, or as many of them as the client reads.
        case huge(Int)
        /// Endless header lines.
        case endlessHeader
        /// Never responds.
        case hang
        /// The first bytes of a response with a body of 100 bytes, then a TCP reset.
        case resetInMidResponse(status: Int = 200)
        /// A TCP reset before any response.
        case reset
        /// A correct response of 56 characters, sent one at a time, with this pause after each.
        case trickle(milliseconds: Int32 = 50)
        /// A correct 200, then the connection is closed without notice.
        case respondThenClose
        /// The reply that this function makes for the request.
        case respond(@Sendable (Request) -> Reply)
    }

    package struct Request: Sendable {
        /// Method, path and version.
        package var line: String
        /// Names in lower case.
        package var headers: [String: String]
        package var body: [UInt8]
        /// The number of its connection, from 0.
        package var connection: Int
        /// When the request had arrived.
        package var time = SystemClock().now()

        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    private struct State {
        var requests: [Request] = []
        var open: Set<Int32> = []
        var connections = 0
        var accepting: WorkerThread?
        /// By the number of the connection.
        var threads: [Int: WorkerThread] = [:]
        /// The numbers of connections that have ended, and whose threads are not joined yet.
        var ended: [Int] = []
        var stopped = false
        var script: [Reply]
        /// The number of requests before the last change of the script.
        var answered = 0
    }

    package let port: UInt16
    private let listener: Int32
    private let state: Mutex<State>

    /// - Parameter unixSocket: listens there instead of at a free port of 127.0.0.1.
    package init(_ script: [Reply], unixSocket: String? = nil) throws {
        state = Mutex(State(script: script))
        (listener, port) = try unixSocket.map { (try Self.listen(at: $0), 0) } ?? Self.listenAtFreePort()
        let accepting = WorkerThread(name: "accept") { [self] in acceptConnections() }
        state.withLock { $0.accepting = accepting }
    }

    package var url: String { "http://127.0.0.1:\(port)/in" }
    package var requests: [Request] { state.withLock { $0.requests } }
    package var connections: Int { state.withLock { $0.connections } }

    /// Changes the script: the next request gets its first reply. A hanging request keeps hanging.
    package func change(to script: [Reply]) {
        state.withLock { state in
            state.script = script
            state.answered = state.requests.count
        }
    }

    /// Closes all connections and waits for the threads. A second call does nothing.
    package func stop() {
        let isFirst = state.withLock { state in
            defer { state.stopped = true }
            for connection in state.open { shutdown(connection, Int32(SHUT_RDWR)) }
            return !state.stopped
        }
        guard isFirst else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        state.withLock { $0.accepting.take() }?.join()
        while let (_, thread) = state.withLock({ $0.threads.popFirst() }) { thread.join() }
        close(listener)
    }

    /// Frees the stacks of threads that have ended: a client may make thousands of connections.
    private func joinEnded() {
        let threads = state.withLock { state in
            defer { state.ended = [] }
            return state.ended.compactMap { state.threads.removeValue(forKey: $0) }
        }
        for thread in threads { thread.join() }
    }

    // MARK: Connections

    private func acceptConnections() {
        while true {
            let connection = accept(listener, nil, nil)
            if connection < 0 { return }
            joinEnded()
            let number: Int? = state.withLock { state in
                if state.stopped { return nil }
                state.open.insert(connection)
                state.connections += 1
                return state.connections - 1
            }
            guard let number else {
                close(connection)
                return
            }
            let thread = WorkerThread(name: "connection") { [self] in
                serve(connection, number)
                state.withLock { state in
                    state.open.remove(connection)
                    state.ended.append(number)
                }
                close(connection)
            }
            state.withLock { $0.threads[number] = thread }
        }
    }

    private func serve(_ connection: Int32, _ number: Int) {
        var buffer: [UInt8] = []
        while let request = readRequest(connection, number, &buffer) {
            let reply = state.withLock { state in
                state.requests.append(request)
                return state.script[min(state.requests.count - 1 - state.answered, state.script.count - 1)]
            }
            guard perform(reply, to: request, on: connection) else { return }
        }
    }

    /// - Returns: whether the connection continues.
    private func perform(_ reply: Reply, to request: Request, on connection: Int32) -> Bool {
        switch reply {
        case .respond(let respond): return perform(respond(request), to: request, on: connection)
        case .status(let status, let headers, let body):
            let lines = ["HTTP/1.1 \(status) Reason", "Content-Length: \(body.utf8.count)"] + headers + ["", body]
            return send(connection, lines.joined(separator: "\r\n"))
        case .raw(let text):
            _ = send(connection, text)
            return false
        case .huge(let count):
            var going = send(connection, "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
            let chunk = String(repeating: "x", count: 1 << 16)
            var left = count
            while going && left > 0 {
                going = send(connection, chunk)
                left -= chunk.utf8.count
            }
            return going
        case .endlessHeader:
            var going = send(connection, "HTTP/1.1 200 OK\r\n")
            let line = "X-Filler: " + String(repeating: "x", count: 8000) + "\r\n"
            while going { going = send(connection, line) }
            return false
        case .hang:
            waitForClose(connection, milliseconds: -1)
            return false
        case .resetInMidResponse(let status):
            _ = send(connection, "HTTP/1.1 \(status) Reason\r\nContent-Length: 100\r\n\r\nonly this")
            reset(connection)
            return false
        case .reset:
            reset(connection)
            return false
        case .trickle(let milliseconds):
            for byte in "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n01234567890123456789" {
                guard send(connection, String(byte)), !waitForClose(connection, milliseconds: milliseconds) else {
                    return false
                }
            }
            return true
        case .respondThenClose:
            _ = send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return false
        }
    }

    // MARK: Bytes

    private func readRequest(_ connection: Int32, _ number: Int, _ buffer: inout [UInt8]) -> Request? {
        var head: Range<Int>?
        while true {
            head = buffer.firstRange(of: Array("\r\n\r\n".utf8))
            if head != nil { break }
            guard receive(connection, &buffer) else { return nil }
        }
        guard let end = head else { return nil }
        let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        var request = Request(line: String(lines[0]), headers: [:], body: [], connection: number)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            request.headers[line[..<colon].lowercased()] = String(value)
        }
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        while buffer.count - end.upperBound < length {
            guard receive(connection, &buffer) else { return nil }
        }
        request.body = Array(buffer[end.upperBound..<end.upperBound + length])
        buffer.removeFirst(end.upperBound + length)
        return request
    }

    private func receive(_ connection: Int32, _ buffer: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe recv(connection, &chunk, chunk.count, 0)
        if count > 0 { buffer += chunk[..<count] }
        return count > 0
    }

    private func send(_ connection: Int32, _ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    /// - Returns: whether the other side has closed the connection.
    @discardableResult
    private func waitForClose(_ connection: Int32, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, milliseconds) != 0
    }

    private func reset(_ connection: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(connection, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    // MARK: Listening

    /// - Returns: a listening socket, which the caller closes, and its port.
    package static func listenAtFreePort() throws -> (Int32, UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, size) != 0 || Glibc.listen(listener, 64) != 0
                    || getsockname(listener, $0, &size) != 0
            }
        }
        if failed { throw SystemError("listen", "127.0.0.1") }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    private static func listen(at path: String) throws -> Int32 {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8.prefix(107)) }
        let failed = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) != 0
                    || Glibc.listen(listener, 64) != 0
            }
        }
        if failed { throw SystemError("listen", path) }
        return listener
    }
}
