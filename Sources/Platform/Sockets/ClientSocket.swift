import CLinux
import Glibc

// The server's side of stream sockets: calls that never block.

/// A peer's credentials, as the kernel recorded them when it connected (unix(7)).
package struct PeerIdentity: Sendable, Equatable {
    package var pid: Int32
    package var uid: UInt32
    package var gid: UInt32

    package init(pid: Int32, uid: UInt32, gid: UInt32) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
    }
}

/// The result of reading a socket.
package enum Received: Sendable, Equatable {
    case bytes(Int)
    /// No bytes are available now.
    case nothing
    /// The peer sends no more.
    case end
    /// The peer is gone: it neither sends nor reads.
    case gone
}

/// The result of writing to a socket.
package enum Transmitted: Sendable, Equatable {
    /// How many bytes were sent; 0: the socket takes none now.
    case bytes(Int)
    /// The peer is gone.
    case gone
}

extension FileDescriptor {
    /// The next client of a listening socket; nil if none is waiting.
    package func accept() throws(SystemError) -> FileDescriptor? {
        try Self.accepted { clinux_accept(raw) }
    }

    /// - Parameter call: accepts; -1 with errno on failure.
    static func accepted(by call: () -> Int32) throws(SystemError) -> FileDescriptor? {
        while true {
            let socket = call()
            if socket >= 0 { return FileDescriptor(owning: socket) }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            default: throw SystemError("accept4")
            }
        }
    }

    /// Whether the peer has closed the connection in both directions. What it has sent before can still be read.
    package func peerHasClosed() -> Bool {
        var entry = pollfd(fd: raw, events: 0, revents: 0)
        return unsafe poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLHUP) != 0
    }

    /// Makes calls on this open file non-blocking, for every process that shares it.
    package func setNonBlocking() throws(SystemError) {
        let flags = fcntl(raw, F_GETFL)
        guard flags >= 0, fcntl(raw, F_SETFL, flags | O_NONBLOCK) == 0 else { throw SystemError("fcntl") }
    }

    package func peer() throws(SystemError) -> PeerIdentity {
        var peer = clinux_peer()
        guard unsafe clinux_peer(raw, &peer) == 0 else { throw SystemError("getsockopt", "SO_PEERCRED") }
        return PeerIdentity(pid: peer.pid, uid: peer.uid, gid: peer.gid)
    }

    /// The ids of the peer's supplementary groups. Empty for a peer in more than 1,024 groups.
    package func peerGroups() -> [UInt32] {
        unsafe [UInt32](unsafeUninitializedCapacity: 1024) { groups, count in
            count = Int(max(0, unsafe clinux_peer_groups(raw, groups.baseAddress, 1024)))
        }
    }

    /// Reads available bytes, at most `limit`, into the beginning of `bytes`.
    package func receive(into bytes: inout [UInt8], limit: Int) -> Received {
        unsafe bytes.withUnsafeMutableBytes {
            unsafe receive(into: UnsafeMutableRawBufferPointer(rebasing: $0.prefix(limit)))
        }
    }

    func receive(into bytes: UnsafeMutableRawBufferPointer) -> Received {
        while true {
            let count = unsafe recv(raw, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .gone
            }
        }
    }

    /// How many bytes can be read now (FIONREAD); 0 if the kernel cannot tell.
    package func availableBytes() -> Int { max(0, Int(clinux_available(raw))) }

    /// Sends as many bytes as the socket takes without blocking.
    package func transmit(_ bytes: Span<UInt8>) -> Transmitted {
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        while true {
            let count = unsafe bytes.withUnsafeBufferPointer { unsafe send(raw, $0.baseAddress, $0.count, flags) }
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS: return .bytes(0)
            default: return .gone
            }
        }
    }

    /// Shuts down the receiving side: the peer can send no more.
    package func stopReceiving() {
        shutdown(raw, Int32(SHUT_RD))
    }
}
