import Foundation
import Glibc
import Platform

/// A connection on which a test sends exact bytes. Each read waits at most ten seconds.
final class RawClient {
    private let socket: FileDescriptor
    private var received: [UInt8] = []

    init(_ path: String) throws {
        socket = try UnixSocket.connect(to: path)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        unsafe setsockopt(socket.raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
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
        let count = unsafe recv(socket.raw, &bytes, bytes.count, 0)
        received += bytes.prefix(max(count, 0))
        return count
    }
}
