import Glibc

/// Page-aligned memory, as direct input and output requires. One owner at a time. It comes directly from the kernel
/// (mmap(2)), which provides pages when they are first touched and takes them back when this object is released. Large,
/// short-lived buffers therefore do not fragment the heap.
@safe package final class AlignedMemory: @unchecked Sendable {
    /// A multiple of every supported disk's block size.
    package static let alignment = 4096

    package let count: Int
    /// Points to the first byte. Valid while this object lives.
    @unsafe package let memory: UnsafeMutableRawPointer

    /// The memory is filled with zeros.
    /// - Precondition: `count` is above 0, and enough memory is available.
    package init(count: Int) {
        self.count = count
        let mapping = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapping = unsafe mapping, unsafe mapping != MAP_FAILED else {
            preconditionFailure("no memory for a buffer of \(count) bytes: error \(errno)")
        }
        unsafe memory = mapping
    }

    deinit { unsafe munmap(memory, count) }

    package var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let start = unsafe UnsafePointer(memory.assumingMemoryBound(to: UInt8.self))
            return unsafe _overrideLifetime(Span(_unsafeStart: start, count: count), borrowing: self)
        }
    }

    /// Passes the memory to a system call that fills it.
    func withPointer<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result {
        unsafe body(memory)
    }

    /// Appends a copy of a range to `bytes`.
    package func append(_ range: Range<Int>, to bytes: inout [UInt8]) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "outside of the memory")
        let start = unsafe UnsafeRawBufferPointer(start: memory + range.lowerBound, count: range.count)
        unsafe bytes.append(contentsOf: start)
    }

    /// Copies `source` to an offset.
    /// - Precondition: it fits.
    package func write(_ source: Span<UInt8>, at offset: Int) {
        precondition(offset >= 0 && source.count <= count - offset, "outside of the memory")
        unsafe source.withUnsafeBufferPointer { source in
            guard let start = source.baseAddress else { return }
            unsafe (memory + offset).copyMemory(from: start, byteCount: source.count)
        }
    }

    /// Sets a range to zero.
    package func clear(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "outside of the memory")
        unsafe (memory + range.lowerBound).initializeMemory(as: UInt8.self, repeating: 0, count: range.count)
    }
}
