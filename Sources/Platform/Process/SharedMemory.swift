import CLinux
import Glibc

/// Memory that another process can map, but only to read. This process writes to it. One owner; one thread at a time.
///
/// Unsafe part: the memory is valid as long as this object exists.
@safe package final class SharedMemory: @unchecked Sendable {
    /// In bytes, a whole number of pages.
    package let size: Int
    /// To be sent to the other process.
    package let descriptor: Int32
    private let memory: UnsafeMutableRawPointer

    /// - Parameter size: at least this many bytes.
    package init(size: Int) throws(SystemError) {
        let page = 4096
        let rounded = (max(size, 1) + page - 1) / page * page
        var descriptor: Int32 = -1
        guard let memory = unsafe clinux_shared_memory(rounded, &descriptor) else { throw SystemError("memfd_create") }
        unsafe self.memory = memory
        self.descriptor = descriptor
        self.size = rounded
    }

    deinit {
        unsafe clinux_forget_shared_memory(memory, size)
        _ = Glibc.close(descriptor)
    }

    /// The bytes to write to.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeMutableRawBufferPointer(start: memory, count: size))
    }
}
