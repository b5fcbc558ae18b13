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

    /// What a child may use. The kernel enforces it.
    package struct Limits: Sendable {
        /// Its private memory, in bytes: what it allocates beyond that fails (RLIMIT_DATA, setrlimit(2)).
        package var memory: UInt64
        package var openFiles: UInt64

        package init(memory: UInt64, openFiles: UInt64) {
            self.memory = memory
            self.openFiles = openFiles
        }
    }

    /// What the child writes.
    package enum Stream: Int, Sendable { case messages, output, errors }

    package let id: Int32
    private let socket: FileDescriptor
    private let messages: FileDescriptor
    private let output: FileDescriptor
    private let errors: FileDescriptor
    /// Readable when the child has ended.
    private let process: FileDescriptor
    /// The most resident memory that this process had when it started the child. The kernel counts it as the child's.
    private let inheritedMemory: UInt64
    /// The kernel's counters of resident memory are exact up to some pages for each processor.
    private static let countingError: UInt64 = 1 << 20
    /// Whether the child's number may belong to another process.
    private let hasEnded = Mutex(false)
    /// Keeps the pieces of two messages apart.
    private let sending = Mutex(())

    /// Starts the program. The child has a socket as descriptor 3, to read from, `file` as 4, and pipes as 5, standard
    /// output and standard error, to write to; it has no standard input. It inherits no environment. A pipe, and not
    /// the socket, is what this process reads from: a child cannot send it descriptors.
    /// - Parameters:
    ///   - libraries: the child's LD_LIBRARY_PATH.
    ///   - sendTimeout: how long `send` may wait for a child that does not read.
    package init(
        _ program: String, libraries: String, file: borrowing FileDescriptor, sendTimeout: Duration
    ) throws(SystemError) {
        var child = clinux_child()
        let error = unsafe clinux_spawn(program, "LD_LIBRARY_PATH=\(libraries)", file.raw, &child)
        guard error == 0 else { throw SystemError("posix_spawn", program, code: error) }
        // After the start: other threads may have made this process larger meanwhile.
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        inheritedMemory = UInt64(clamping: usage.ru_maxrss) << 10
        id = child.pid
        socket = FileDescriptor(owning: child.socket)
        messages = FileDescriptor(owning: child.messages)
        output = FileDescriptor(owning: child.output)
        errors = FileDescriptor(owning: child.errors)
        process = FileDescriptor(owning: child.process)
        _ = clinux_send_timeout(socket.raw, max(1, sendTimeout.inNanoseconds / 1000))
    }

    /// - Parameter descriptor: sent with the first byte; the receiver gets its own copy.
    package func send(_ bytes: [UInt8], descriptor: Int32? = nil) throws(SystemError) {
        let error = sending.withLock { _ in
            unsafe clinux_send_with_file(socket.raw, bytes, bytes.count, descriptor ?? -1)
        }
        if error != 0 { throw SystemError("sendmsg", code: error) }
    }

    /// Waits until one of these streams has bytes, or the child has ended. One thread for each stream.
    /// - Returns: up to 64 KiB; nil: the streams are closed, or the child has ended and they are empty. Another process
    ///   that holds their other ends does not matter then.
    package func read(_ streams: [Stream]) -> (stream: Stream, bytes: [UInt8])? {
        var open = streams
        while !open.isEmpty {
            var files = open.map { pollfd(fd: number(of: $0), events: Int16(POLLIN), revents: 0) }
            files.append(pollfd(fd: process.raw, events: Int16(POLLIN), revents: 0))
            guard unsafe poll(&files, nfds_t(files.count), -1) > 0 else {
                if errno == EINTR { continue }
                return nil
            }
            for (index, stream) in open.enumerated() where files[index].revents != 0 {
                if let bytes = readNow(stream) { return (stream, bytes) }
                open.removeAll { $0 == stream }
            }
            guard files[files.count - 1].revents == 0 else {
                for stream in open {
                    if let bytes = readNow(stream) { return (stream, bytes) }
                }
                return nil
            }
        }
        return nil
    }

    /// - Returns: nil: there are no bytes, now or ever.
    private func readNow(_ stream: Stream) -> [UInt8]? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, initialized in
            var got: Int
            repeat {
                got = unsafe Glibc.read(number(of: stream), buffer.baseAddress, buffer.count)
            } while got < 0 && errno == EINTR
            initialized = max(got, 0)
        }
        return bytes.isEmpty ? nil : bytes
    }

    private func number(of stream: Stream) -> Int32 {
        switch stream {
        case .messages: messages.raw
        case .output: output.raw
        case .errors: errors.raw
        }
    }

    /// Copies bytes to this process's standard output. What it does not take within a second is lost.
    package static func copyToOutput(_ bytes: [UInt8]) {
        var place = 0
        while place < bytes.count {
            var output = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&output, 1, 1000) > 0 else { return }
            // A pipe that is ready takes this much without waiting (pipe(7), PIPE_BUF).
            let count = min(bytes.count - place, 4096)
            let done = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe write(1, bytes.baseAddress?.advanced(by: place), count)
            }
            if done < 0 && errno == EINTR { continue }
            guard done > 0 else { return }
            place += done
        }
    }

    /// Ends the child at once (SIGKILL). No effect after `wait` has returned.
    package func kill() {
        hasEnded.withLock { hasEnded in
            if !hasEnded { _ = Glibc.kill(id, SIGKILL) }
        }
    }

    /// Limits the child. Do it before the first message.
    package func limit(_ limits: Limits) throws(SystemError) {
        for (limit, value) in [(CLINUX_MEMORY, limits.memory), (CLINUX_OPEN_FILES, limits.openFiles)] {
            let error = clinux_set_limit(id, limit, value)
            if error != 0 { throw SystemError("prlimit", code: error) }
        }
    }

    /// The processor time that the child has used; nil: it has ended.
    package var processorTime: Duration? {
        hasEnded.withLock { hasEnded in
            let time = hasEnded ? -1 : clinux_processor_time(id)
            return time < 0 ? nil : .nanoseconds(time)
        }
    }

    /// Sets how much processor time the child may have used before the kernel ends it with SIGXCPU.
    /// - Parameter limit: whole seconds; at least 1.
    package func limitProcessorTime(seconds limit: Int64) {
        hasEnded.withLock { hasEnded in
            if !hasEnded { _ = clinux_set_limit(id, CLINUX_PROCESSOR_TIME, UInt64(max(1, limit))) }
        }
    }

    /// Waits until the child has ended. Call once, from the thread that receives.
    /// - Returns: how it ended, and the most resident memory that it had, in bytes. If this process once had more, that
    ///   is all that is known.
    package func wait() -> (ending: Ending, memory: ClosedRange<UInt64>) {
        var info = unsafe siginfo_t()
        // The process stays a zombie, so its number stays its own, until waitpid.
        while unsafe waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
        var ending = clinux_ending()
        hasEnded.withLock { hasEnded in
            hasEnded = true
            _ = unsafe clinux_wait(id, &ending)
        }
        return (
            ending.signal == 0 ? .exited(status: ending.status) : .signal(name: Self.name(ofSignal: ending.signal)),
            (ending.memory > inheritedMemory + Self.countingError ? ending.memory : 0)...ending.memory
        )
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
        case SIGXCPU: "SIGXCPU"
        default: "signal \(number)"
        }
    }
}
