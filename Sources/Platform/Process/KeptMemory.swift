import CLinux
import Glibc

/// Memory that outlives this process, as long as another process holds its descriptor: a service manager does
/// (`ServiceNotifier.keep`). Any thread, if each word has one writer.
///
/// A word that was stored is there for the next process even if this one is killed at that moment, and so is every word
/// that this thread stored before it.
///
/// Unsafe part: the memory is valid as long as this object exists, and every access is checked against its size.
@safe package final class KeptMemory: @unchecked Sendable {
    /// In bytes.
    package let size: Int
    private let file: FileDescriptor
    private let memory: UnsafeMutableRawPointer

    /// Zeros. Only pages that are written to take memory.
    package init(size: Int) throws(SystemError) {
        let number = clinux_kept_file(size)
        guard number >= 0 else { throw SystemError("memfd_create") }
        file = FileDescriptor(owning: number)
        guard let memory = unsafe clinux_map_kept(number, size) else { throw SystemError("mmap") }
        unsafe self.memory = memory
        self.size = size
    }

    /// The memory of an earlier process.
    /// - Throws: the descriptor belongs to something else, or the memory has another size.
    package init(adopting file: consuming FileDescriptor, size: Int) throws(SystemError) {
        guard let memory = unsafe clinux_map_kept(file.raw, size) else { throw SystemError("mmap") }
        unsafe self.memory = memory
        self.file = file
        self.size = size
    }

    deinit { unsafe munmap(memory, size) }

    /// To be handed to the process that keeps it.
    package var descriptor: Int32 { file.raw }

    /// The word at a place, which is a multiple of eight.
    package subscript(place: Int) -> UInt64 {
        get {
            check(place, 8)
            return unsafe clinux_load(memory + place)
        }
        set {
            check(place, 8)
            unsafe clinux_store(memory + place, newValue)
        }
    }

    package func bytes(_ place: Int, _ count: Int) -> [UInt8] {
        check(place, count)
        return unsafe Array(UnsafeRawBufferPointer(start: memory + place, count: count))
    }

    /// Makes these bytes zero, and frees whole pages.
    package func forget(_ place: Int, _ count: Int) {
        check(place, count)
        clinux_forget_kept(file.raw, Int64(place), Int64(count))
    }

    /// Reads available bytes from a socket, at most `limit`.
    package func receive(from socket: borrowing FileDescriptor, limit: Int, at place: Int) -> Received {
        check(place, limit)
        return unsafe socket.receive(into: UnsafeMutableRawBufferPointer(start: memory + place, count: limit))
    }

    /// Passes bytes, which nobody must change meanwhile.
    package func withBytes<Result>(_ place: Int, _ count: Int, _ body: (Span<UInt8>) -> Result) -> Result {
        check(place, count)
        let bytes = unsafe UnsafeBufferPointer(
            start: (memory + place).assumingMemoryBound(to: UInt8.self), count: count)
        return unsafe body(Span(_unsafeElements: bytes))
    }

    private func check(_ place: Int, _ count: Int) {
        precondition(place >= 0 && count >= 0 && place <= size - count, "a place outside of the kept memory")
    }
}
