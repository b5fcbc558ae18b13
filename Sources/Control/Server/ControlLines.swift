import NIOCore
import NIOHTTP1
import Platform
import Synchronization

/// A stream of lines to one client. Any thread; never blocks. It ends when `finish` is called or the last reference is
/// released.
package final class ControlLines: Sendable {
    package enum Outcome: Sendable, Equatable {
        case sent
        /// The client reads too slowly and already has the maximum of unread bytes. This line is lost for it.
        case dropped
        /// The client has disconnected: later lines cannot be sent either.
        case closed
    }

    private struct State {
        /// Nothing more may be sent: the stream is finished, or the connection has ended.
        var closed = false
        /// Bytes that the client has not read.
        var unread = 0
        var dropped = 0
    }

    /// A separate object, so that the connection's end can be recorded while the stream itself is being released.
    private final class Shared: Sendable {
        let state = Mutex(State())
        func close() { state.withLock { $0.closed = true } }
    }

    private let channel: any Channel
    private let maximumUnread: Int
    private let patience: Duration
    private let shared = Shared()

    /// - Parameters:
    ///   - maximumUnread: in bytes.
    ///   - patience: how long the client may take to read the rest once the answer has ended.
    init(channel: any Channel, maximumUnread: Int, patience: Duration) {
        self.channel = channel
        self.maximumUnread = maximumUnread
        self.patience = patience
        channel.closeFuture.whenComplete { [shared] _ in shared.close() }
    }

    deinit { finish() }

    /// The stream is finished, or the client has disconnected.
    package var isClosed: Bool { shared.state.withLock { $0.closed } }

    /// The number of lines dropped so far.
    package var dropped: Int { shared.state.withLock { $0.dropped } }

    /// - Parameter line: a line, or several that are sent or lost together; without the last line feed.
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

    /// Closes the stream because it has no client.
    func close() { shared.close() }

    /// Ends the answer. The client receives everything that was `sent` before it sees the end.
    package func finish() {
        shared.state.withLock { state in
            guard !state.closed else { return }
            state.closed = true
            enqueue(.end(nil)) { [channel] in channel.close(promise: nil) }
            // The client may have stopped reading.
            channel.eventLoop.scheduleTask(in: .nanoseconds(patience.inNanoseconds)) { [channel] in
                channel.close(promise: nil)
            }
        }
    }

    /// Call with the lock held: the connection's event loop runs as long as the connection has not ended.
    ///
    /// Always uses the loop's queue, even when called on the loop. This keeps the answer's head, its lines and its end
    /// in order.
    private func enqueue(_ part: HTTPServerResponsePart, then written: @escaping @Sendable () -> Void) {
        channel.eventLoop.execute { [channel] in
            channel.writeAndFlush(part).whenComplete { _ in written() }
        }
    }
}
