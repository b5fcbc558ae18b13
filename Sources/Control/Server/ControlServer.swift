import NIOCore
import NIOHTTP1
import NIOPosix
import Platform

/// Serves the control socket, or a TCP listener. Any thread; but call `open` and `stop` outside of event loops.
package final class ControlServer: Sendable {
    /// Limits. The defaults are not meant to be changed.
    package struct Limits: Sendable {
        /// The largest body of a request, in bytes.
        package var body = 1 << 20
        /// The line and the header fields of a request, in bytes.
        package var head = 16 << 10
        /// Open connections. At the limit, a new connection replaces the one that has been idle longest.
        package var connections = 64
        /// How long a connection may be idle: the time for a complete request to arrive, and for an answer to be taken.
        package var patience: Duration = .seconds(30)
        /// The most bytes of lines that a client may have unread. Beyond it, lines are dropped.
        package var unreadLines = 1 << 20

        package init() {}
    }

    private let channel: any Channel
    /// nil: it is a TCP listener.
    private let path: String?
    private let connections: ControlConnections

    private init(channel: any Channel, path: String?, connections: ControlConnections) {
        self.channel = channel
        self.path = path
        self.connections = connections
    }

    /// Opens the socket at `path`. Clients that connect wait until `serve` is called.
    /// - Parameter group: its event loops serve the socket.
    /// - Parameter mode: the mode of the socket file. Anybody who can open it may do everything.
    /// - Parameter policy: the `Content-Security-Policy` for browsers, which may reach the socket through a tunnel;
    ///   nil: the answers are not for browsers.
    /// - Throws: `UnixSocketError`, or NIO's error if it cannot use the socket.
    package static func open(
        path: String, mode: UInt32 = 0o600, handler: any ControlHandler, group: any EventLoopGroup,
        limits: Limits = Limits(), policy: String? = nil
    ) throws -> ControlServer {
        try open(
            try UnixListener.listen(at: path, mode: mode, backlog: 64), path: path, handler: handler, group: group,
            limits: limits, terms: policy.map { .init(fields: fields(policy: $0), isLocalOnly: true) } ?? .init())
    }

    /// The fields of every answer that a browser may get.
    private static func fields(policy: String) -> HTTPHeaders {
        [
            "cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin", "cross-origin-opener-policy": "same-origin",
            "content-security-policy": policy,
        ]
    }

    /// Opens a TCP listener. Everybody who can connect can send requests: at least every user of the machine.
    ///
    /// A web page of another site cannot read an answer: no answer has CORS fields, and a loopback address refuses a
    /// request whose `Host` is another name (`LocalHost`).
    /// - Parameters:
    ///   - address: with port 0, the kernel chooses the port; see `localAddress`.
    ///   - policy: the `Content-Security-Policy` of every answer.
    /// - Throws: `TCPListenerError`, or NIO's error if it cannot use the socket.
    package static func open(
        address: Platform.SocketAddress, handler: any ControlHandler, group: any EventLoopGroup,
        limits: Limits = Limits(), policy: String = "default-src 'none'; frame-ancestors 'none'"
    ) throws -> ControlServer {
        try open(
            try TCPListener.listen(at: address, backlog: 64), path: nil, handler: handler, group: group, limits: limits,
            terms: .init(fields: fields(policy: policy), isLocalOnly: address.isLoopback))
    }

    private static func open(
        _ listener: consuming Platform.FileDescriptor, path: String?, handler: any ControlHandler,
        group: any EventLoopGroup, limits: Limits, terms: ControlConnection.Terms
    ) throws -> ControlServer {
        var heads = NIOHTTPDecoderLimitConfiguration()
        heads.maxHeaderListSize = limits.head
        heads.maxHeaderFieldSize = limits.head
        heads.maxHeaderFieldCount = 64
        let headLimits = heads
        let connections = ControlConnections(limit: limits.connections)
        let channel = try ServerBootstrap(group: group)
            .serverChannelOption(.autoRead, value: false)
            .childChannelInitializer { child in
                guard connections.enter(child) else { return child.close() }
                child.closeFuture.whenComplete { _ in connections.leave(child) }
                return child.eventLoop.makeCompletedFuture {
                    let pipeline = child.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(
                        withErrorHandling: true, withEncoderConfiguration: .init(),
                        withDecoderLimitConfiguration: headLimits)
                    try pipeline.addHandler(
                        ControlConnection(
                            handler: handler, limits: limits, connections: connections, terms: terms))
                }
            }
            .withBoundSocket(listener.release())
            .wait()
        return ControlServer(channel: channel, path: path, connections: connections)
    }

    /// Starts to answer requests.
    package func serve() {
        // Fails only if the channel is closed.
        channel.setOption(.autoRead, value: true).whenSuccess { [channel] in channel.read() }
    }

    /// The address of a TCP listener, with the port that the kernel chose for port 0.
    package var localAddress: Platform.SocketAddress? {
        guard let local = channel.localAddress, let host = local.ipAddress.flatMap(RemoteAddress.init),
            let port = local.port.flatMap(UInt16.init(exactly:))
        else { return nil }
        return Platform.SocketAddress(host, port: port)
    }

    /// Stops accepting connections, removes the socket file and closes idle connections. Requests in progress are still
    /// answered.
    package func stop() {
        // Remove the file first, so that no client finds a socket that will not answer.
        if let path { UnixListener.remove(path) }
        // Fails only if the channel is closed already.
        try? channel.close().wait()
        connections.close()
    }
}
