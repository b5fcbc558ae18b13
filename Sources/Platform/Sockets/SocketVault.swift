import CLinux
import Glibc

/// Keeps open sockets beyond the end of this process: their descriptors lie in the queue of a pair of sockets
/// (SCM_RIGHTS, unix(7)), and another process holds both ends of the pair. So that process, a service manager, has
/// nothing to do when a socket is added or removed. One thread at a time.
///
/// The queue is first in, first out. An entry is one socket or several.
package final class SocketVault {
    /// The most sockets of one entry.
    package static let most = Int(CLINUX_FILES_MOST)

    private let input: FileDescriptor
    private let output: FileDescriptor
    /// nil: the kernel or a sandbox does not allow it.
    private var ring = AcceptRing()

    package init() throws(SystemError) {
        var (first, second): (Int32, Int32) = (-1, -1)
        guard unsafe clinux_socket_pair(&first, &second) == 0 else { throw SystemError("socketpair") }
        input = FileDescriptor(owning: first)
        output = FileDescriptor(owning: second)
        // More than the system allows means as much as it allows.
        _ = clinux_send_buffer(first, 1 << 20)
    }

    /// The vault of an earlier process.
    package init(input: consuming FileDescriptor, output: consuming FileDescriptor) {
        self.input = input
        self.output = output
    }

    /// The ends, to be handed to the process that keeps them.
    package var descriptors: (input: Int32, output: Int32) { (input.raw, output.raw) }

    /// Accepts a client of a listening socket, and adds its socket at once. A kill cannot come between the two
    /// (AcceptRing), or, where that is not allowed, hardly: it would have to come between two system calls in a row.
    /// - Parameter isIn: whether it was added. It is not if the queue is full, or if the kernel allows no more.
    /// - Returns: nil: no client waits.
    package func accept(from listener: borrowing FileDescriptor, isIn: inout Bool) throws(SystemError)
        -> FileDescriptor?
    {
        var added: Int32 = 0
        let (socket, queue) = (listener.raw, input.raw)
        let client = try FileDescriptor.accepted {
            if let client = ring?.accept(from: socket, into: queue, &added) { return client }
            ring = nil
            return unsafe clinux_accept_into(socket, queue, &added)
        }
        isIn = added != 0
        return client
    }

    /// Adds an entry. Never waits.
    /// - Returns: false: the queue is full, or the kernel allows no more.
    package func put(_ sockets: [Int32]) -> Bool {
        unsafe clinux_send_files(input.raw, sockets, Int32(clamping: sockets.count)) == 0
    }

    /// Adds an entry.
    package func put(_ sockets: [KeptSocket]) -> Bool { put(sockets.compactMap(\.number)) }

    /// The sockets of the first entry, which stay in the vault; nil: there is none.
    package func first() -> [KeptSocket]? {
        var files = [Int32](repeating: -1, count: Self.most)
        let count = unsafe clinux_receive_files(output.raw, &files, 1)
        guard count >= 0 else { return nil }
        return files.prefix(Int(count)).map { KeptSocket(FileDescriptor(owning: $0)) }
    }

    /// Removes the first entry. Its sockets stay open where this process holds them.
    /// - Returns: false: there is none.
    package func dropFirst() -> Bool {
        var files = [Int32](repeating: -1, count: Self.most)
        let count = unsafe clinux_receive_files(output.raw, &files, 0)
        for file in files.prefix(max(0, Int(count))) { _ = FileDescriptor(owning: file) }
        return count >= 0
    }

    /// Passes the sockets of each entry, in order. They stay in the vault.
    package func look(_ body: (inout [KeptSocket]) -> Void) {
        guard clinux_set_peek_offset(output.raw, 0) == 0 else { return }
        var files = [Int32](repeating: -1, count: Self.most)
        while true {
            let count = unsafe clinux_receive_files(output.raw, &files, 1)
            guard count >= 0 else { break }
            var sockets = files.prefix(Int(count)).map { KeptSocket(FileDescriptor(owning: $0)) }
            body(&sockets)
        }
        _ = clinux_set_peek_offset(output.raw, -1)
    }
}

/// A socket from a vault. Closed unless it is taken.
package final class KeptSocket {
    private var socket: FileDescriptor?

    private(set) var number: Int32?

    init(_ socket: consuming FileDescriptor) {
        number = socket.raw
        self.socket = consume socket
    }

    package func take() -> FileDescriptor? {
        number = nil
        return socket.take()
    }
}

extension FileDescriptor {
    /// A number that no other socket of this kernel ever has; 0 if the kernel cannot tell.
    package func cookie() -> UInt64 { clinux_cookie(raw) }

    /// How many unread bytes lie before the place of the next peek; reading moves it back. -1: it was never set.
    package func peekOffset() -> Int { Int(clinux_peek_offset(raw)) }

    /// - Returns: whether the kernel does it for this socket.
    package func setPeekOffset(_ offset: Int) -> Bool { clinux_set_peek_offset(raw, Int32(clamping: offset)) == 0 }

    /// Ends both directions for every process that holds the socket. The peer notices it.
    package func endConnection() { _ = shutdown(raw, Int32(SHUT_RDWR)) }
}
