import NIOCore
import NIOHTTP1

/// The client's side of a connection: collects the answer, or passes its lines on. Belongs to its event loop.
final class ControlAnswerReader: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let socket: String
    private let answer: EventLoopPromise<ControlAnswer>
    private let begun: @Sendable () -> Void
    private let onLine: (@Sendable ([UInt8]) -> Bool)?
    private var status = 0
    /// The answer is complete or has failed; further input is ignored.
    private var isDone = false
    /// The body so far or, in a stream, the unfinished line.
    private var bytes: [UInt8] = []
    private var isStream: Bool { onLine != nil && status == 200 }

    /// - Parameter begun: called when a stream starts.
    init(
        socket: String, answer: EventLoopPromise<ControlAnswer>, begun: @escaping @Sendable () -> Void,
        onLine: (@Sendable ([UInt8]) -> Bool)?
    ) {
        self.socket = socket
        self.answer = answer
        self.begun = begun
        self.onLine = onLine
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            status = Int(head.status.code)
            if isStream { begun() }
        case .body(let part):
            if isStream {
                take(lines: part, context)
            } else {
                bytes.append(contentsOf: part.readableBytesView)
                if bytes.count > ControlClient.largestAnswer {
                    fail("an answer above \(ControlClient.largestAnswer) bytes", context)
                }
            }
        case .end:
            succeed(isStream ? [] : bytes, context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Has no effect if the answer was complete.
        answer.fail(ControlClientError(.broken, socket, "it was closed"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail("\(error)", context)
    }

    private func take(lines part: ByteBuffer, _ context: ChannelHandlerContext) {
        var rest = part.readableBytesView[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            bytes.append(contentsOf: rest[..<end])
            rest = rest[(end + 1)...]
            let isWanted = onLine?(bytes) ?? false
            bytes.removeAll(keepingCapacity: true)
            if !isWanted { return succeed([], context) }
        }
        bytes.append(contentsOf: rest)
        if bytes.count > ControlClient.largestLine { fail("a line above \(ControlClient.largestLine) bytes", context) }
    }

    private func succeed(_ body: [UInt8], _ context: ChannelHandlerContext) {
        isDone = true
        answer.succeed(ControlAnswer(status: status, body: body))
        context.close(promise: nil)
    }

    private func fail(_ detail: String, _ context: ChannelHandlerContext) {
        isDone = true
        answer.fail(ControlClientError(.broken, socket, detail))
        context.close(promise: nil)
    }
}
