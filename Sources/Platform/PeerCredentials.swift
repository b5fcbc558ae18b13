import CLinux
import Glibc

/// Who is at the other end of a Unix socket: the kernel's word at the time of the connect, not the
/// peer's (unix(7), SO_PEERCRED and SO_PEERGROUPS).
package struct PeerCredentials: Sendable, Equatable {
    package var user: UInt32
    package var group: UInt32
    /// In our PID namespace; 0 if the peer is not in it.
    package var process: Int32

    package static func of(_ socket: Int32) throws(SystemError) -> PeerCredentials {
        var peer = PeerCredentials(user: 0, group: 0, process: 0)
        guard unsafe clinux_peer_credentials(socket, &peer.user, &peer.group, &peer.process) == 0 else {
            throw SystemError("getsockopt", "SO_PEERCRED")
        }
        return peer
    }

    /// All groups that the peer's process is in, its own first. Unlike a look-up in the user
    /// database this never blocks, and it is what the kernel goes by for files, too.
    package static func groups(of socket: Int32) throws(SystemError) -> [UInt32] {
        var groups = [try of(socket).group]
        // NGROUPS_MAX is 65,536; the kernel says ERANGE and how much it wants.
        var capacity = 64
        while capacity <= 65_536 {
            var further = [gid_t](repeating: 0, count: capacity)
            var length = socklen_t(capacity * MemoryLayout<gid_t>.size)
            if unsafe getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, &further, &length) == 0 {
                groups += further.prefix(Int(length) / MemoryLayout<gid_t>.size).filter { $0 != groups[0] }
                return groups
            }
            guard errno == ERANGE else { throw SystemError("getsockopt", "SO_PEERGROUPS") }
            capacity = max(Int(length) / MemoryLayout<gid_t>.size, capacity * 2)
        }
        throw SystemError("getsockopt", "SO_PEERGROUPS", code: ERANGE)
    }
}
