import Foundation
import Glibc
import Platform

/// A connection on which a test sends exact bytes. Each read waits at most ten seconds.
final class RawClient {
    private let socket: FileDescriptor
    private var received: [UInt8] = []

    convenience init(_ path: String) throws { self.init(try UnixSocket.connect(to: path)) }

    /// Connects to a port of this machine.
    convenience init(port: UInt16) throws {
        let number = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let socket = FileDescriptor(owning: number)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if status != 0 { throw SystemError("connect", "port \(port)") }
        self.init(socket)
    }

    private init(_ socket: consuming FileDescriptor) {
        self.socket = socket
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        unsafe setsockopt(self.socket.raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.send(socket.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Everything received up to and including `end`. Nil: `end` did not arrive.
    func receive(until end: String) -> String? {
        while true {
            let text = String(decoding: received, as: UTF8.self)
            if let range = text.range(of: end) { return String(text[..<range.upperBound]) }
            guard receiveMore() > 0 else { return nil }
        }
    }

    /// Everything until the peer closes.
    func receiveAll() -> String {
        while receiveMore() > 0 {}
        return String(decoding: received, as: UTF8.self)
    }

    func isClosedByPeer() -> Bool {
        while true {
            let count = receiveMore()
            if count == 0 || count < 0 && errno == ECONNRESET { return true }
            if count < 0 { return false }
        }
    }

    /// Whether the peer has closed the connection. Unread bytes may remain.
    var hasHungUp: Bool {
        var state = pollfd(fd: socket.raw, events: 0, revents: 0)
        return unsafe poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP) != 0
    }

    /// Waits for more bytes and keeps them.
    /// - Returns: the number of bytes; 0: the peer has closed; negative: see errno.
    @discardableResult
    func receiveMore() -> Int {
        var bytes = [UInt8](repeating: 0, count: 4096)
        var count: Int
        repeat {
            // A read that has a timeout ends early, with no signal, when io_uring has work for this thread: a ring that
            // another test of the process has made on it is closed.
            count = unsafe recv(socket.raw, &bytes, bytes.count, 0)
        } while count < 0 && errno == EINTR
        received += bytes.prefix(max(count, 0))
        return count
    }
}
