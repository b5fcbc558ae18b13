import NIOCore
import NIOHTTP1
import NIOPosix
import Platform

/// Serves the control socket. Any thread; but call `open` and `stop` outside of event loops.
package final class ControlServer: Sendable {
    /// Limits. The defaults are not meant to be changed.
    package struct Limits: Sendable {
        /// The largest body of a request, in bytes.
        package var body = 1 << 20
        /// Open connections. At the limit, a new connection replaces the one that has been idle longest.
        package var connections = 64
        /// How long a connection may be idle: the time for a complete request to arrive, and for an answer to be taken.
        package var patience: Duration = .seconds(30)
        /// The most bytes of lines that a client may have unread. Beyond it, lines are dropped.
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
    /// - Parameter mode: the mode of the socket file. Anybody who can open it may do everything.
    /// - Throws: `UnixSocketError`, or NIO's error if it cannot use the socket.
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
                    try pipeline.addHandler(
                        ControlConnection(handler: handler, limits: limits, connections: connections))
                }
            }
            .withBoundSocket(listener.release())
            .wait()
        return ControlServer(channel: channel, path: path)
    }

    /// Starts to answer requests.
    package func serve() {
        // Fails only if the channel is closed.
        channel.setOption(.autoRead, value: true).whenSuccess { [channel] in channel.read() }
    }

    /// Stops accepting connections and removes the socket file. Requests in progress are still answered. Their
    /// connections end with the event loops.
    package func stop() {
        // Remove the file first, so that no client finds a socket that will not answer.
        UnixListener.remove(path)
        // Fails only if the channel is closed already.
        try? channel.close().wait()
    }
}
