import NIOCore
import NIOHTTP1
import NIOPosix
import Platform

/// Serves the control socket. Any thread; `open` and `stop` not on an event loop.
package final class ControlServer: Sendable {
    /// Bounds; the defaults are meant to stay.
    package struct Limits: Sendable {
        /// Bytes of a request's body.
        package var body = 1 << 20
        /// At this number, the longest idle one makes room for a new one.
        package var connections = 64
        /// For a request to arrive whole, and for an answer to be taken: how long a connection may be idle.
        package var patience: Duration = .seconds(30)
        /// Bytes of lines that a client has not read yet; beyond it, lines are dropped.
        package var unreadLines = 1 << 20

        package init() {}
    }

    private let channel: any Channel
    private let path: String

    private init(channel: any Channel, path: String) {
        self.channel = channel
        self.path = path
    }

    /// Opens the socket at `path`. Clients that connect wait until `serve` is called.
    /// - Parameter group: its event loops serve the socket.
    /// - Parameter mode: the socket file's; whoever may open it may do everything.
    /// - Throws: `UnixSocketError`, or what NIO throws when it cannot take the socket.
    package static func open(
        path: String, mode: UInt32 = 0o600, handler: any ControlHandler, group: any EventLoopGroup,
        limits: Limits = Limits()
    ) throws -> ControlServer {
        let listener = try UnixListener.listen(at: path, mode: mode, backlog: 64)
        let connections = ControlConnections(limit: limits.connections)
        let channel = try ServerBootstrap(group: group)
            .serverChannelOption(.autoRead, value: false)
            .childChannelInitializer { child in
                guard connections.enter(child) else { return child.close() }
                child.closeFuture.whenComplete { _ in connections.leave(child) }
                return child.eventLoop.makeCompletedFuture {
                    let pipeline = child.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(ControlConnection(handler: handler, limits: limits, connections: connections))
                }
            }
            .withBoundSocket(listener.release())
            .wait()
        return ControlServer(channel: channel, path: path)
    }

    /// Answers requests from now on.
    package func serve() {
        // The only error is that the channel is closed.
        channel.setOption(.autoRead, value: true).whenSuccess { [channel] in channel.read() }
    }

    /// Takes no more connections and removes the socket file. Requests that are being answered
    /// are answered still; their connections end with the event loops.
    package func stop() {
        // Removed first: nobody finds a socket that will not answer.
        UnixListener.remove(path)
        // The only error is that it is closed already.
        try? channel.close().wait()
    }
}
