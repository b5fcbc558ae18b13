import CLinux
import Glibc

/// Receives the messages of datagram sockets, several at once, into memory that is reused (recvmmsg(2)). It never
/// waits, and closes the descriptors that were sent along. One thread at a time.
@safe package final class DatagramBuffer {
    /// A received message.
    package struct Message: Sendable, Equatable {
        /// Bytes. If it is more than the slot's size, the rest was cut off.
        package var length: Int
        /// nil: the kernel does not name the sender.
        package var sender: PeerIdentity?
    }

    package enum Outcome: Sendable, Equatable {
        /// How many messages were received.
        case messages(Int)
        /// None is there now.
        case nothing
        case failed(SystemError)
    }

    /// The most messages of one call.
    package static let largestCount = 64
    /// The user that the kernel reports for a message without credentials (/proc/sys/kernel/overflowuid).
    private static let overflowUser: UInt32 = 65534

    /// The most bytes of a message that are kept.
    package let slotSize: Int
    /// The most messages of one call.
    package let count: Int
    private let memory: AlignedMemory
    private var received: [clinux_datagram]

    /// The kernel provides the memory page by page, as messages need it.
    /// - Parameters:
    ///   - slotSize: above 0.
    ///   - count: 1 to `largestCount`.
    package init(slotSize: Int, count: Int) {
        precondition(slotSize > 0 && (1...Self.largestCount).contains(count), "\(count) slots of \(slotSize) bytes")
        self.slotSize = slotSize
        self.count = count
        memory = AlignedMemory(count: slotSize * count)
        received = Array(repeating: clinux_datagram(), count: count)
    }

    /// Replaces the messages with the next ones of a socket.
    package func receive(from socket: borrowing FileDescriptor) -> Outcome {
        let found = unsafe received.withUnsafeMutableBufferPointer { received in
            unsafe clinux_receive_datagrams(
                socket.raw, memory.memory, slotSize, Int32(count), received.baseAddress)
        }
        if found < 0 { return errno == EAGAIN ? .nothing : .failed(SystemError("recvmmsg")) }
        return .messages(Int(found))
    }

    /// One of the messages that were just received.
    package subscript(index: Int) -> Message {
        let one = received[index]
        let sender = PeerIdentity(pid: one.sender.pid, uid: one.sender.uid, gid: one.sender.gid)
        let isNamed = one.has_sender != 0 && (sender.pid != 0 || sender.uid != Self.overflowUser)
        return Message(length: Int(one.length), sender: isNamed ? sender : nil)
    }

    /// The kept bytes of one of the messages that were just received.
    @_lifetime(borrow self)
    package func bytes(of index: Int) -> Span<UInt8> {
        precondition(received.indices.contains(index), "there is no message \(index)")
        let start = unsafe UnsafePointer((memory.memory + index * slotSize).assumingMemoryBound(to: UInt8.self))
        let bytes = unsafe Span(_unsafeStart: start, count: min(Int(received[index].length), slotSize))
        // The memory lives as long as this object does.
        return unsafe _overrideLifetime(bytes, borrowing: self)
    }
}
