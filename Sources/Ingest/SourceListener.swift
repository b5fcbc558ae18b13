import Events
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
    private let group: any EventLoopGroup

    init(
        source: String, group: any EventLoopGroup, descriptor: consuming Platform.FileDescriptor,
        loops: [ObjectIdentifier: LoopState], limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics, clock: any Clock
    ) throws {
        self.group = group
        let same = try Platform.FileDescriptor.duplicate(of: descriptor.raw)
        channel = try ServerBootstrap(group: group)
            .childChannelOption(.recvAllocator, value: Self.receiveBuffer)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(
                .writeBufferWaterMark,
                value: .init(low: limits.maximumUnreadAnswers / 2, high: limits.maximumUnreadAnswers))
            .childChannelInitializer { channel in
                let noGroups = channel.eventLoop.makeSucceededFuture([UInt32]())
                let groups = admission.asksForGroups ? PeerIdentity.groups(of: channel) : noGroups
                return PeerIdentity.of(channel).and(groups).flatMapThrowing { peer, groups in
                    let origin = Origin(source: source, uid: peer.uid, gid: peer.gid, pid: peer.pid)
                    let open = statistics.connect()
                    channel.closeFuture.whenComplete { _ in statistics.disconnect() }
                    if let refusal = admission.refusal(of: origin, groups: groups)
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
        // NIO calls listen(2) with a backlog of 128, even on a socket that listens already.
        do {
            try UnixListener.setBacklog(of: same)
        } catch {
            channel.close(promise: nil)
            throw error
        }
    }

    /// Lets nobody in any more and closes the listening socket; connections go on.
    ///
    /// A client that is accepted and not yet set up would go with it (NIO closes it when it finds
    /// the listener closed). So accepting ends first; then each event loop takes a turn, in which
    /// whatever was accepted is set up; then it is closed.
    func stop() {
        let (channel, loops) = (channel, Array(group.makeIterator()))
        channel.setOption(.autoRead, value: false)
            .flatMap { EventLoopFuture.andAllComplete(loops.map { $0.submit {} }, on: channel.eventLoop) }
            .whenComplete { _ in channel.close(promise: nil) }
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
