import Glibc
import Platform
import Synchronization

/// A proxy for tests that leads every connection to one port of 127.0.0.1, whatever host was requested: by CONNECT, as
/// a plain HTTP proxy, or by SOCKS 5. It records the requests.
package final class ForwardProxy: @unchecked Sendable {
    private struct State {
        var asked: [String] = []
        var open: Set<Int32> = []
        var threads: [WorkerThread] = []
        var stopped = false
    }

    package let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let state = Mutex(State())

    package init(to target: UInt16) throws {
        self.target = target
        (listener, port) = try ScriptedServer.listenAtFreePort()
        let accepting = WorkerThread(name: "proxy") { [self] in acceptConnections() }
        state.withLock { $0.threads.append(accepting) }
    }

    /// The first line of each request for a connection (`CONNECT host:port HTTP/1.1`, `socks5 host:port`), followed by
    /// its Proxy-Authorization, if any.
    package var asked: [String] { state.withLock { $0.asked } }

    /// Closes all connections and waits for the threads.
    package func stop() {
        state.withLock { state in
            state.stopped = true
            for connection in state.open { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
        while let thread = state.withLock({ $0.threads.popLast() }) { thread.join() }
        close(listener)
    }

    private func acceptConnections() {
        while true {
            let client = accept(listener, nil, nil)
            if client < 0 { return }
            let thread = WorkerThread(name: "proxied") { [self] in
                let isWelcome = state.withLock { state in
                    if !state.stopped { state.open.insert(client) }
                    return !state.stopped
                }
                if isWelcome { serve(client) }
                state.withLock { _ = $0.open.remove(client) }
                close(client)
            }
            state.withLock { $0.threads.append(thread) }
        }
    }

    private func serve(_ client: Int32) {
        var buffer: [UInt8] = []
        guard receive(client, &buffer) else { return }
        let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(upstream) }
        guard connect(upstream) else { return }
        if buffer.first == 5 {
            guard greetSocks(client, &buffer) else { return }
        } else {
            while buffer.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
                guard receive(client, &buffer) else { return }
            }
            let lines = String(decoding: buffer, as: UTF8.self).split(separator: "\r\n")
            let credential = lines.first { $0.lowercased().hasPrefix("proxy-authorization:") }
            let first = lines.first.map(String.init) ?? ""
            state.withLock { $0.asked.append(first + (credential.map { " " + $0 } ?? "")) }
            if first.hasPrefix("CONNECT ") {
                buffer = []
                send(client, Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
            }
        }
        send(upstream, buffer)
        relay(client, upstream)
    }

    /// RFC 1928: no authentication, CONNECT, an address or a name.
    private func greetSocks(_ client: Int32, _ buffer: inout [UInt8]) -> Bool {
        send(client, [5, 0])
        buffer = []
        guard receive(client, &buffer), buffer.count >= 10 else { return false }
        let host: String
        let end: Int
        if buffer[3] == 1 {
            host = buffer[4..<8].map { "\($0)" }.joined(separator: ".")
            end = 8
        } else {
            end = 5 + Int(buffer[4])
            host = String(decoding: buffer[5..<end], as: UTF8.self)
        }
        let port = Int(buffer[end]) << 8 | Int(buffer[end + 1])
        state.withLock { $0.asked.append("socks5 \(host):\(port)") }
        buffer = []
        send(client, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        return true
    }

    private func relay(_ client: Int32, _ upstream: Int32) {
        var entries = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: upstream, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&entries, 2, -1) > 0 {
            for (from, to) in [(0, upstream), (1, client)] where entries[from].revents != 0 {
                var bytes: [UInt8] = []
                guard receive(entries[from].fd, &bytes) else { return }
                send(to, bytes)
            }
        }
    }

    private func connect(_ upstream: Int32) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = target.bigEndian
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private func receive(_ connection: Int32, _ buffer: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe recv(connection, &chunk, chunk.count, 0)
        if count > 0 { buffer += chunk[..<count] }
        return count > 0
    }

    private func send(_ connection: Int32, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }
}
