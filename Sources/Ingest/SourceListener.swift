import Events
import Glibc
import NIOCore
import NIOPosix
import Platform

/// One source's listening socket: admits clients and gives each its connection handler.
final class SourceListener: Sendable {
    /// What belongs to one event loop. Only ever touched on that loop.
    struct LoopState: @unchecked Sendable {
        let door: SourceDoor
        let waiting: WaitingConnections
    }

    /// A read takes this much at most; small for an idle client, grown for a busy one.
    private static let receiveBuffer = AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16 << 10, maximum: 256 << 10)

    private let channel: any Channel

    init(
        source: String, group: any EventLoopGroup, descriptor: consuming Platform.FileDescriptor,
        loops: [ObjectIdentifier: LoopState], limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics, clock: any Clock
    ) throws {
        channel = try ServerBootstrap(group: group)
            .childChannelOption(.recvAllocator, value: Self.receiveBuffer)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(
                .writeBufferWaterMark,
                value: .init(low: limits.maximumUnreadAnswers / 2, high: limits.maximumUnreadAnswers))
            .childChannelInitializer { channel in
                PeerIdentity.of(channel).flatMapThrowing { peer in
                    let origin = Origin(source: source, uid: peer.uid, gid: peer.gid, pid: peer.pid)
                    let open = statistics.connect()
                    channel.closeFuture.whenComplete { _ in statistics.disconnect() }
                    if let refusal = admission.refusal(of: origin)
                        ?? limits.refusal(ofConnection: open, to: source)
                    {
                        statistics.refuse(refusal, at: clock.wallClock())
                        throw ChannelError.ioOnClosedChannel
                    }
                    guard let loop = loops[ObjectIdentifier(channel.eventLoop)] else {
                        preconditionFailure("a channel on a loop that is not the group's")
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        NDJSONConnection(
                            stream: NDJSONStream(origin: origin), door: loop.door, waiting: loop.waiting,
                            answerLimit: limits.maximumUnreadAnswers))
                }
            }
            .withBoundSocket(descriptor.release())
            .wait()
    }

    /// Closes the listening socket; connections go on.
    func stop() {
        channel.close(promise: nil)
    }
}

/// SO_PEERCRED (unix(7)): who connected, as the kernel recorded it then. `struct ucred`.
private struct PeerIdentity: BitwiseCopyable, Sendable {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0

    /// Done by the time it returns when called on the channel's event loop.
    static func of(_ channel: any Channel) -> EventLoopFuture<PeerIdentity> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET), name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
    }
}

extension SourceLimits {
    fileprivate func refusal(ofConnection number: Int, to source: String) -> Refusal? {
        guard number > maximumConnections else { return nil }
        return Refusal(
            reason: .notAllowed,
            detail: "source \"\(source)\" has \(maximumConnections) connections already (max_connections)")
    }
}
