import CLinux
import Glibc

/// Bytes that must not turn up in a core dump: in pages of their own, which the kernel and gdb leave out of one
/// (MADV_DONTDUMP), and which are zeroed before they go back to the system. They never change. Any thread.
///
/// It guards what is kept. A copy that somebody makes to use a secret is an ordinary piece of the heap, which
/// `CoreDumps` leaves out.
@safe package final class SecretMemory: @unchecked Sendable, Equatable {
    package let count: Int
    private let mapping: UnsafeMutableRawPointer?

    package init(_ text: String) {
        var text = text
        (count, unsafe mapping) = text.withUTF8 { bytes in
            guard let start = bytes.baseAddress, bytes.count > 0 else { return (0, nil) }
            let mapping = unsafe clinux_secret_pages(bytes.count)
            guard let mapping = unsafe mapping else { preconditionFailure("no memory for a secret: error \(errno)") }
            unsafe mapping.copyMemory(from: start, byteCount: bytes.count)
            return unsafe (bytes.count, mapping)
        }
    }

    deinit {
        if let mapping = unsafe mapping { unsafe clinux_forget_secret(mapping, count) }
    }

    /// For tests.
    var address: UInt? { unsafe mapping.map { UInt(bitPattern: $0) } }

    /// A copy, to be used and let go.
    package var text: String {
        unsafe String(decoding: UnsafeRawBufferPointer(start: mapping, count: count), as: UTF8.self)
    }

    package static func == (a: SecretMemory, b: SecretMemory) -> Bool {
        guard a !== b else { return true }
        guard a.count == b.count, let first = unsafe a.mapping, let second = unsafe b.mapping else { return a.count + b.count == 0 }
        return unsafe memcmp(first, second, a.count) == 0
    }
}
