import CLinux
import Glibc

/// Reports which sockets are readable or writable (epoll(7)). One thread adds and waits; any thread may wake it.
@safe package final class SocketPoll: @unchecked Sendable {
    /// The state of one socket.
    package struct Readiness: Sendable {
        /// The tag passed to `add`.
        package var tag: UInt64
        package var canRead: Bool
        package var canWrite: Bool
        /// The peer writes no more. Bytes that it wrote before can still be read.
        package var hasEnded: Bool
        /// The peer is gone: it does not read either.
        package var isGone: Bool
    }

    private static let capacity = 256
    /// The tag of `bell`.
    private static let bellTag = UInt64.max

    private let poll: FileDescriptor
    private let bell: FileDescriptor
    private var found = [clinux_ready](repeating: clinux_ready(), count: capacity)

    package init() throws(SystemError) {
        let poll = clinux_poll_make()
        guard poll >= 0 else { throw SystemError("epoll_create1") }
        self.poll = FileDescriptor(owning: poll)
        let bell = clinux_bell()
        guard bell >= 0 else { throw SystemError("eventfd") }
        self.bell = FileDescriptor(owning: bell)
        guard clinux_poll_add(poll, bell, Self.bellTag, 0) == 0 else { throw SystemError("epoll_ctl") }
    }

    /// Adds a socket. Each change is reported once (edge-triggered): after a report, read or accept until nothing is
    /// left, or remember that there is more. A closed socket is removed automatically.
    /// - Parameter tag: below `UInt64.max`.
    package func add(_ socket: borrowing FileDescriptor, tag: UInt64) throws(SystemError) {
        guard clinux_poll_add(poll.raw, socket.raw, tag, 1) == 0 else { throw SystemError("epoll_ctl") }
    }

    package func remove(_ socket: borrowing FileDescriptor) {
        _ = clinux_poll_remove(poll.raw, socket.raw)
    }

    /// Waits until a socket is ready, `wake` is called or the timeout passes.
    /// - Parameters:
    ///   - timeout: nil: no timeout. Rounded up to milliseconds.
    ///   - ready: emptied, then filled with at most 256 sockets.
    package func wait(timeout: Duration?, into ready: inout [Readiness]) {
        ready.removeAll(keepingCapacity: true)
        let milliseconds = timeout.map { Int32(clamping: (max(0, $0.inNanoseconds) &+ 999_999) / 1_000_000) } ?? -1
        // Fails only if interrupted by a signal.
        let count = unsafe found.withUnsafeMutableBufferPointer {
            unsafe clinux_poll_wait(poll.raw, $0.baseAddress, Int32(Self.capacity), milliseconds)
        }
        for index in 0..<max(0, Int(count)) {
            let one = found[index]
            if one.tag == Self.bellTag {
                var rings: UInt64 = 0
                _ = unsafe read(bell.raw, &rings, 8)
                continue
            }
            ready.append(
                Readiness(
                    tag: one.tag, canRead: one.can_read != 0, canWrite: one.can_write != 0,
                    hasEnded: one.has_ended != 0,
                    isGone: one.is_gone != 0))
        }
    }

    /// Makes the current or next `wait` return. Any thread.
    package func wake() {
        var ring: UInt64 = 1
        _ = unsafe write(bell.raw, &ring, 8)
    }
}
