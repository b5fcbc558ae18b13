import CLinux
import Glibc

// A server's end of stream sockets: calls that never wait.

/// Who connected, as the kernel recorded it at that time (unix(7)).
package struct PeerIdentity: Sendable, Equatable {
    package var pid: Int32
    package var uid: UInt32
    package var gid: UInt32
}

/// What reading a socket brought.
package enum Received: Sendable, Equatable {
    case bytes(Int)
    /// Nothing now.
    case nothing
    /// The peer sends no more.
    case end
    /// The peer is gone, and reads no more either.
    case gone
}

/// What writing to a socket did.
package enum Transmitted: Sendable, Equatable {
    /// So many bytes went; 0: none now.
    case bytes(Int)
    /// The peer is gone.
    case gone
}

extension FileDescriptor {
    /// The next client of a listening socket; nil: nobody waits now.
    package func accept() throws(SystemError) -> FileDescriptor? {
        while true {
            let socket = clinux_accept(raw)
            if socket >= 0 { return FileDescriptor(owning: socket) }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            default: throw SystemError("accept4")
            }
        }
    }

    /// Makes calls on this file return at once, for every process that shares it.
    package func setNonBlocking() throws(SystemError) {
        let flags = fcntl(raw, F_GETFL)
        guard flags >= 0, fcntl(raw, F_SETFL, flags | O_NONBLOCK) == 0 else { throw SystemError("fcntl") }
    }

    package func peer() throws(SystemError) -> PeerIdentity {
        var peer = clinux_peer()
        guard unsafe clinux_peer(raw, &peer) == 0 else { throw SystemError("getsockopt", "SO_PEERCRED") }
        return PeerIdentity(pid: peer.pid, uid: peer.uid, gid: peer.gid)
    }

    /// The ids of the peer's groups beside its first. A peer in more than 1,024 groups has none here.
    package func peerGroups() -> [UInt32] {
        unsafe [UInt32](unsafeUninitializedCapacity: 1024) { groups, count in
            count = Int(max(0, unsafe clinux_peer_groups(raw, groups.baseAddress, 1024)))
        }
    }

    /// Reads what is there into the beginning of `bytes`, at most `limit`.
    package func receive(into bytes: inout [UInt8], limit: Int) -> Received {
        while true {
            let count = unsafe bytes.withUnsafeMutableBufferPointer {
                unsafe recv(raw, $0.baseAddress, min($0.count, limit), Int32(MSG_DONTWAIT))
            }
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .gone
            }
        }
    }

    /// Writes what goes without waiting.
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

    /// From now on the peer can write no more.
    package func stopReceiving() {
        shutdown(raw, Int32(SHUT_RD))
    }
}
