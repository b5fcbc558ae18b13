import Glibc

@testable import Platform

/// A blocking TCP connection to this machine, for tests. Reads wait at most 10 s.
final class TCPClient {
    struct Failed: Error {
        var code: Int32
    }

    private(set) var socket: Int32

    init(_ address: SocketAddress) throws {
        socket = Glibc.socket(
            address.host.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let bytes = address.host.bytes
        var done: Int32
        if address.host.isIPv4 {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = address.port.bigEndian
            name.sin_addr.s_addr = (12..<16).reduce(0) { $0 << 8 | UInt32(bytes[$1]) }.bigEndian
            done = unsafe withUnsafePointer(to: &name) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        } else {
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = address.port.bigEndian
            unsafe withUnsafeMutableBytes(of: &name.sin6_addr) { target in
                for index in 0..<16 { unsafe target[index] = bytes[index] }
            }
            done = unsafe withUnsafePointer(to: &name) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
        if done != 0 { throw Failed(code: errno) }
    }

    deinit { close() }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func close() {
        if socket >= 0 { Glibc.close(socket) }
        socket = -1
    }
}

/// Waits at most 60 s until a socket is readable.
func waitUntilReadable(_ socket: Int32) -> Bool {
    var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 60_000) > 0
}

/// The listener's next client, within 60 s.
func nextClient(of listener: borrowing FileDescriptor) throws -> FileDescriptor {
    guard waitUntilReadable(listener.raw), let client = try listener.accept() else {
        throw TCPClient.Failed(code: ETIMEDOUT)
    }
    return client
}

/// Waits at most `milliseconds` until a socket is readable, or writable if asked for.
func waitUntilReady(_ socket: Int32, writable: Bool, milliseconds: Int32) {
    var entry = pollfd(fd: socket, events: Int16(POLLIN) | (writable ? Int16(POLLOUT) : 0), revents: 0)
    _ = unsafe poll(&entry, 1, milliseconds)
}
