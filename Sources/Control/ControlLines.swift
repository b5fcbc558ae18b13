import NIOCore
import NIOHTTP1
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

    private let channel: any Channel
    private let maximumUnread: Int
    private let unread = Atomic<Int>(0)
    private let lost = Atomic<Int>(0)
    private let finished = Atomic<Bool>(false)

    /// - Parameter maximumUnread: bytes.
    init(channel: any Channel, maximumUnread: Int) {
        self.channel = channel
        self.maximumUnread = maximumUnread
    }

    deinit { finish() }

    /// Lines dropped so far.
    package var dropped: Int { lost.load(ordering: .relaxed) }

    /// - Parameter line: without its line feed.
    @discardableResult
    package func send(_ line: [UInt8]) -> Outcome {
        guard channel.isActive, !finished.load(ordering: .acquiring) else { return .closed }
        let size = line.count + 1
        guard unread.add(size, ordering: .relaxed).newValue <= maximumUnread else {
            unread.subtract(size, ordering: .relaxed)
            lost.add(1, ordering: .relaxed)
            return .dropped
        }
        var buffer = channel.allocator.buffer(capacity: size)
        buffer.writeBytes(line)
        buffer.writeInteger(UInt8(ascii: "\n"))
        let part = HTTPServerResponsePart.body(.byteBuffer(buffer))
        // Always through the loop's queue, also when already on it: that keeps the order of the
        // answer's head, its lines and its end.
        channel.eventLoop.execute { [self] in
            channel.writeAndFlush(part).whenComplete { [self] _ in unread.subtract(size, ordering: .relaxed) }
        }
        return .sent
    }

    /// Ends the answer. The client has had everything that was `sent` when it sees the end.
    package func finish() {
        guard !finished.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let channel = channel
        channel.eventLoop.execute {
            channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in channel.close(promise: nil) }
        }
    }
}
