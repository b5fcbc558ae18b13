import Glibc
import NIOCore

/// Who connected, as the kernel recorded it at that time (unix(7)); `struct ucred`.
struct PeerIdentity: BitwiseCopyable, Sendable {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0

    /// SO_PEERCRED. Done by the time it returns when called on the channel's event loop.
    static func of(_ channel: any Channel) -> EventLoopFuture<PeerIdentity> {
        option(SO_PEERCRED, of: channel)
    }

    /// SO_PEERGROUPS: the ids of the groups beside the first. Group 0 is not told from an empty
    /// place, so it never counts; and a peer in more groups than fit has none here.
    static func groups(of channel: any Channel) -> EventLoopFuture<[UInt32]> {
        option(SO_PEERGROUPS, of: channel).map { (list: GroupList) in
            list.ids.indices.map { list.ids[$0] }.filter { $0 != 0 }
        }.recover { _ in [] }
    }

    private struct GroupList: BitwiseCopyable, Sendable {
        var ids: InlineArray<1024, UInt32>
    }

    private static func option<Value: BitwiseCopyable & Sendable>(
        _ name: Int32, of channel: any Channel
    ) -> EventLoopFuture<Value> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET), name: NIOBSDSocket.Option(rawValue: name))
    }
}
