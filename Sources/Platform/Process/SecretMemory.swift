import CLinux
import Glibc

/// Bytes that must not appear in a core dump. They have their own pages, which the kernel and gdb exclude from core
/// dumps (MADV_DONTDUMP) and which are zeroed before they are returned to the system. The bytes never change. Any
/// thread.
///
/// It protects only the stored secret. A copy made in order to use the secret is ordinary heap memory, which
/// `CoreDumps` excludes.
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

    /// A short-lived copy for one use.
    package var text: String {
        unsafe String(decoding: UnsafeRawBufferPointer(start: mapping, count: count), as: UTF8.self)
    }

    package static func == (a: SecretMemory, b: SecretMemory) -> Bool {
        guard a !== b else { return true }
        guard a.count == b.count, let first = unsafe a.mapping, let second = unsafe b.mapping else {
            return a.count + b.count == 0
        }
        return unsafe memcmp(first, second, a.count) == 0
    }
}
