import NIOCore
import NIOHTTP1
import Platform

/// One client's connection: collects a request, passes it to the handler and writes the answer. Belongs to its event
/// loop.
final class ControlConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    /// What the listener asks of requests, and adds to answers.
    struct Terms: Sendable {
        /// Header fields that every answer has.
        var fields = HTTPHeaders()
        /// Whether a request that names another host is refused.
        var isLocalOnly = false
    }

    private let handler: any ControlHandler
    private let limits: ControlServer.Limits
    private let connections: ControlConnections
    private let terms: Terms
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var tooLarge = false
    /// The deadline for the client. It runs only while the daemon waits for the client, never while the client waits
    /// for the daemon.
    private var patience: Scheduled<Void>?
    /// The slot of the request that is being answered.
    private var slot: ControlReply.Slot?

    init(
        handler: any ControlHandler, limits: ControlServer.Limits, connections: ControlConnections, terms: Terms
    ) {
        self.terms = terms
        self.handler = handler
        self.limits = limits
        self.connections = connections
    }

    // The channel is already active when its handlers are added.
    func handlerAdded(context: ChannelHandlerContext) { setDeadline(context.channel) }

    func channelInactive(context: ChannelHandlerContext) {
        patience?.cancel()
        slot?.clear()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            tooLarge = false
        case .body(let part):
            tooLarge = tooLarge || body.count + part.readableBytes > limits.body
            if !tooLarge { body.append(contentsOf: part.readableBytesView) }
        case .end:
            guard let head else { return }
            self.head = nil
            patience?.cancel()
            connections.beginRequest(context.channel)
            take(head, on: context.channel)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func take(_ head: HTTPRequestHead, on channel: any Channel) {
        let limits = limits
        let loop = channel.eventLoop
        let connection = NIOLoopBound(self, eventLoop: loop)
        let (keepAlive, isHead) = (head.isKeepAlive, head.method == .HEAD)
        let slot = ControlReply.Slot { answer in
            loop.execute { connection.value.write(answer, keepAlive: keepAlive, isHead: isHead, to: channel) }
        }
        self.slot = slot
        let reply = ControlReply(slot: slot) {
            ControlLines(channel: channel, maximumUnread: limits.unreadLines, patience: limits.patience)
        }
        if tooLarge {
            return reply.fail(413, "the request's body has more than \(limits.body) bytes")
        }
        if terms.isLocalOnly, !LocalHost.allows(head.headers.first(name: "host")) {
            return reply.fail(403, "this listener answers only requests to localhost or to a loopback address")
        }
        // An answer to HEAD is that to GET, without its body.
        guard let method = ControlRequest.Method(rawValue: isHead ? "GET" : head.method.rawValue) else {
            return reply.fail(405, "only GET and POST are supported")
        }
        let fields = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $0 + ", " + $1 }
        guard let request = ControlRequest(method: method, target: head.uri, body: body, fields: fields) else {
            return reply.fail(400, "the request's target is not a path")
        }
        body = []
        handler.handle(request, reply: reply)
    }

    private func write(_ answer: ControlReply.Answer, keepAlive: Bool, isHead: Bool, to channel: any Channel) {
        switch answer {
        case .lines where isHead:
            channel.close(promise: nil)
        case .lines:
            var headers = terms.fields
            headers.add(contentsOf: [
                ("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked"), ("connection", "close"),
            ])
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
            channel.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
        case .whole(let status, let contentType, let bytes):
            let isLast = !connections.endRequest(channel) || !keepAlive
            var headers = terms.fields
            headers.add(contentsOf: [
                ("content-type", contentType), ("content-length", String(bytes.count)),
                ("connection", isLast ? "close" : "keep-alive"),
            ])
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            if !isHead {
                channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes))), promise: nil)
            }
            let taken = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
            setDeadline(channel)
            if isLast { taken.whenComplete { _ in channel.close(promise: nil) } }
        }
    }

    /// Closes the connection unless the client takes the previous answer and sends its next complete request in time.
    private func setDeadline(_ channel: any Channel) {
        patience?.cancel()
        patience = channel.eventLoop.scheduleTask(in: .nanoseconds(limits.patience.inNanoseconds)) {
            channel.close(promise: nil)
        }
    }
}
