import NIOCore
import NIOHTTP1
import Platform
import Synchronization

/// A stream of lines to one client. Any thread; never blocks. It ends when it is finished, or when
/// the last reference goes.
package final class ControlLines: Sendable {
    package enum Outcome: Sendable, Equatable {
        case sent
        /// The client reads too slowly: as much as it may have unread is unread. This line is lost
        /// to it.
        case dropped
        /// The client has gone: there is nobody to send to any more.
        case closed
    }

    private struct State {
        /// Nothing may be sent any more: finished, or the connection has ended.
        var closed = false
        /// Bytes.
        var unread = 0
        var dropped = 0
    }

    /// Apart, so that the connection's end can still be noted while the stream itself goes.
    private final class Shared: Sendable {
        let state = Mutex(State())
        func close() { state.withLock { $0.closed = true } }
    }

    private let channel: any Channel
    private let maximumUnread: Int
    private let patience: Duration
    private let shared = Shared()

    /// - Parameters:
    ///   - maximumUnread: bytes.
    ///   - patience: how long the client may take to read what is left when the answer has ended.
    init(channel: any Channel, maximumUnread: Int, patience: Duration) {
        self.channel = channel
        self.maximumUnread = maximumUnread
        self.patience = patience
        channel.closeFuture.whenComplete { [shared] _ in shared.close() }
    }

    deinit { finish() }

    /// Lines dropped so far.
    package var dropped: Int { shared.state.withLock { $0.dropped } }

    /// - Parameter line: without its line feed.
    @discardableResult
    package func send(_ line: [UInt8]) -> Outcome {
        let size = line.count + 1
        return shared.state.withLock { state in
            guard !state.closed else { return .closed }
            guard state.unread + size <= maximumUnread else {
                state.dropped += 1
                return .dropped
            }
            state.unread += size
            var buffer = channel.allocator.buffer(capacity: size)
            buffer.writeBytes(line)
            buffer.writeInteger(UInt8(ascii: "\n"))
            enqueue(.body(.byteBuffer(buffer))) { [shared] in shared.state.withLock { $0.unread -= size } }
            return .sent
        }
    }

    /// There is nobody to send to.
    func close() { shared.close() }

    /// Ends the answer. The client has had everything that was `sent` when it sees the end.
    package func finish() {
        shared.state.withLock { state in
            guard !state.closed else { return }
            state.closed = true
            enqueue(.end(nil)) { [channel] in channel.close(promise: nil) }
            // It may have stopped reading.
            channel.eventLoop.scheduleTask(in: .nanoseconds(patience.inNanoseconds)) { [channel] in channel.close(promise: nil) }
        }
    }

    /// With the lock held: as long as the connection has not ended, its event loop runs.
    ///
    /// Always through the loop's queue, also when already on the loop: that keeps the order of
    /// the answer's head, its lines and its end.
    private func enqueue(_ part: HTTPServerResponsePart, then written: @escaping @Sendable () -> Void) {
        channel.eventLoop.execute { [channel] in
            channel.writeAndFlush(part).whenComplete { _ in written() }
        }
    }
}
