import CLinux
import Glibc
import Synchronization

/// A child of this process that is connected to it by a stream socket: for code that may crash. Any thread may send;
/// one thread receives, and it also waits for the child's end.
package final class ChildProcess: Sendable {
    /// How a child ended.
    package enum Ending: Sendable, Equatable {
        case exited(status: Int32)
        /// `name`: `SIGSEGV`.
        case signal(name: String)
    }

    package let id: Int32
    private let socket: FileDescriptor
    /// What the child writes to its standard error.
    package let errors: FileDescriptor
    /// Whether the child's number may belong to another process.
    private let hasEnded = Mutex(false)
    /// Keeps the pieces of two messages apart.
    private let sending = Mutex(())

    /// Starts the program. The child has the socket as descriptor 3, `file` as 4, no standard input, and this process's
    /// standard output. It inherits no environment.
    /// - Parameter libraries: the child's LD_LIBRARY_PATH.
    /// - Parameter sendTimeout: how long `send` may wait for a child that does not read.
    package init(
        _ program: String, libraries: String, file: borrowing FileDescriptor, sendTimeout: Duration
    ) throws(SystemError) {
        var child = clinux_child()
        let error = unsafe clinux_spawn(program, "LD_LIBRARY_PATH=\(libraries)", file.raw, &child)
        guard error == 0 else { throw SystemError("posix_spawn", program, code: error) }
        id = child.pid
        socket = FileDescriptor(owning: child.socket)
        errors = FileDescriptor(owning: child.errors)
        _ = clinux_send_timeout(socket.raw, max(1, sendTimeout.inNanoseconds / 1000))
    }

    /// - Parameter descriptor: sent with the first byte; the receiver gets its own copy.
    package func send(_ bytes: [UInt8], descriptor: Int32? = nil) throws(SystemError) {
        let error = sending.withLock { _ in
            unsafe clinux_send_with_file(socket.raw, bytes, bytes.count, descriptor ?? -1)
        }
        if error != 0 { throw SystemError("sendmsg", code: error) }
    }

    /// Waits for exactly `count` bytes.
    /// - Returns: nil at the end of the stream: the child has closed its end, or has ended.
    package func receive(_ count: Int) -> [UInt8]? {
        var isWhole = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let free = unsafe buffer.baseAddress?.advanced(by: initialized)
                let got = unsafe recv(socket.raw, free, count - initialized, 0)
                if got < 0 && errno == EINTR { continue }
                guard got > 0 else {
                    isWhole = false
                    return
                }
                initialized += got
            }
        }
        return isWhole ? bytes : nil
    }

    /// Ends the child at once (SIGKILL). No effect after `wait` has returned.
    package func kill() {
        hasEnded.withLock { hasEnded in
            if !hasEnded { _ = Glibc.kill(id, SIGKILL) }
        }
    }

    /// Waits until the child has ended. Call once, from the thread that receives.
    package func wait() -> Ending {
        var info = unsafe siginfo_t()
        // The process stays a zombie, so its number stays its own, until waitpid.
        while unsafe waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
        var ending = clinux_ending()
        hasEnded.withLock { hasEnded in
            hasEnded = true
            _ = unsafe clinux_wait(id, &ending)
        }
        return ending.signal == 0 ? .exited(status: ending.status) : .signal(name: Self.name(ofSignal: ending.signal))
    }

    private static func name(ofSignal number: Int32) -> String {
        switch number {
        case SIGSEGV: "SIGSEGV"
        case SIGABRT: "SIGABRT"
        case SIGBUS: "SIGBUS"
        case SIGFPE: "SIGFPE"
        case SIGILL: "SIGILL"
        case SIGKILL: "SIGKILL"
        case SIGTRAP: "SIGTRAP"
        case SIGSYS: "SIGSYS"
        case SIGTERM: "SIGTERM"
        default: "signal \(number)"
        }
    }
}
