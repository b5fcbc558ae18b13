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

    private let group: any EventLoopGroup
    private let channel: any Channel

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
                    if let refusal = admission.refusal(of: origin, groups: groups)
                        ?? limits.refusal(ofConnection: open, to: source)
                    {
                        statistics.disconnect()
                        statistics.refuse(refusal, at: clock.wallClock())
                        throw ChannelError.ioOnClosedChannel
                    }
                    guard let loop = loops[ObjectIdentifier(channel.eventLoop)] else {
                        preconditionFailure("a channel on a loop that is not the group's")
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        NDJSONConnection(
                            stream: NDJSONStream(origin: origin), door: loop.door, waiting: loop.waiting,
                            answerLimit: limits.maximumUnreadAnswers, onEnd: { statistics.disconnect() }))
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

    /// Accepts nothing until `resume`; returns when that is so. What comes waits in the socket. Not
    /// on an event loop.
    func pause() {
        // It fails only if the socket is closed.
        try? channel.setOption(.autoRead, value: false).wait()
    }

    func resume() {
        channel.setOption(.autoRead, value: true).whenFailure { _ in }
    }

    /// Accepts no more, and then closes the listening socket; connections go on.
    /// - Returns: at once; the future, when it is closed.
    ///
    /// A connection is set up on its own loop, and NIO drops it if its listener is closed by the
    /// time that is done, with whatever the client has sent. So there is a turn of every loop
    /// between the last `accept` and the close. What was not accepted waits in the socket, for
    /// whoever else holds it.
    @discardableResult
    func stop() -> EventLoopFuture<Void> {
        let (group, channel) = (group, channel)
        channel.setOption(.autoRead, value: false).whenComplete { _ in
            let turns = group.makeIterator().map { $0.submit {} }
            EventLoopFuture.andAllComplete(turns, on: channel.eventLoop).whenComplete { _ in channel.close(promise: nil) }
        }
        return channel.closeFuture
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
