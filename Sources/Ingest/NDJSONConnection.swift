import NIOCore

/// One NDJSON client on its event loop: moves bytes between the socket and its stream, and stops
/// reading while the journal has no room or the client reads no answers. All of it on the event
/// loop.
final class NDJSONConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let door: SourceDoor
    private let waiting: WaitingConnections
    private let answerLimit: Int
    private var stream: NDJSONStream
    /// What was read and is not taken yet; at most what the channel delivers in one turn.
    private var pending: ByteBuffer?
    private var context: ChannelHandlerContext?
    private var isPaused = false
    private var inputEnded = false
    private var isFinished = false
    private var isClosing = false
    private var isGone = false
    private var onEnd: (() -> Void)?

    /// - Parameter onEnd: called once, when the connection is closed and all that it sent is taken.
    init(
        stream: NDJSONStream, door: SourceDoor, waiting: WaitingConnections, answerLimit: Int,
        onEnd: @escaping () -> Void
    ) {
        self.onEnd = onEnd
        self.stream = stream
        self.door = door
        self.waiting = waiting
        self.answerLimit = answerLimit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        isGone = true
        if !stream.isStalled { release() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var block = unwrapInboundIn(data)
        if pending == nil {
            pending = block
        } else {
            pending?.writeBuffer(&block)
        }
        work()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            inputEnded = true
            work()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // What was read before the client went is still taken: it may have been sent without
        // wish for an answer. If the journal is busy, `waiting` keeps this connection until then.
        inputEnded = true
        isGone = true
        work()
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { work() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// The journal has room again, or is durable up to `position`.
    func proceed(durable position: UInt64) {
        stream.durable(upTo: position)
        work()
    }

    var isStalled: Bool { stream.isStalled }
    var isWaitingForDisk: Bool { context != nil && stream.isWaitingForDisk }

    private func work() {
        var canAnswer = flushAnswers()
        // A line that waits for room may be all that there is left to take.
        if stream.isStalled && pending == nil { pending = ByteBuffer() }
        while canAnswer, let block = pending {
            var block = block
            pending = nil
            block.moveReaderIndex(
                forwardBy: stream.take(block.readableBytesUInt8Span, at: door, answerLimit: answerLimit))
            if block.readableBytes > 0 { pending = block }
            canAnswer = flushAnswers()
            if stream.isStalled { break }
        }
        if pending == nil && inputEnded && !isFinished && !stream.isStalled {
            isFinished = true
            stream.finish(at: door)
            canAnswer = flushAnswers()
        }
        waiting.note(self, door: door)
        settleReading(canAnswer: canAnswer)
    }

    /// Sends what there is to send, unless the client has too much unread already.
    /// - Returns: whether it could.
    private func flushAnswers() -> Bool {
        guard let context, context.channel.isActive else {
            // Nobody is there to read them; kept, they would hold up what the client sent before it
            // went.
            _ = stream.takeAnswers()
            return true
        }
        guard context.channel.isWritable else { return false }
        if let answers = stream.takeAnswers() {
            var buffer = context.channel.allocator.buffer(capacity: answers.count)
            buffer.writeBytes(answers)
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        }
        return context.channel.isWritable
    }

    private func settleReading(canAnswer: Bool) {
        guard let context, context.channel.isActive else {
            if isGone && !stream.isStalled { release() }
            return
        }
        if stream.isRefused || (isFinished && !stream.isStalled && !stream.isWaitingForDisk && canAnswer) {
            closeAfterAnswers(context)
            return
        }
        let pause = stream.isStalled || !canAnswer
        guard pause != isPaused else { return }
        isPaused = pause
        context.channel.setOption(.autoRead, value: !pause).whenFailure { _ in }
    }

    /// A close drops what is not written yet, so it comes behind an empty write of its own.
    private func closeAfterAnswers(_ context: ChannelHandlerContext) {
        guard !isClosing else { return }
        isClosing = true
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in channel.close(promise: nil) }
    }

    /// The connection counts no more. It did as long as it was open, or kept what was not taken yet.
    private func release() {
        onEnd?()
        onEnd = nil
    }
}
