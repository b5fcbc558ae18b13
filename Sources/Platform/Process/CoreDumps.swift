import Glibc

/// Limits what this process writes to a core dump.
package enum CoreDumps {
    /// Excludes memory from the core dumps of this process and of its child processes (coredump_filter, core(5)). Heap
    /// and stacks contain events and secrets, including copies that libcurl and OpenSSL make. Registers and the list of
    /// libraries are still dumped.
    ///
    /// Replaces only the kernel's default filter: any other filter (systemd's CoredumpFilter=) was set on purpose. Does
    /// nothing if the kernel does not support core dumps.
    package static func leaveMemoryOut() {
        guard let file = try? FileDescriptor.open("/proc/self/coredump_filter", O_RDWR),
            let bytes = try? file.read(upTo: 64)
        else {
            return
        }
        let digits = String(decoding: bytes, as: UTF8.self).prefix { $0.isHexDigit }
        guard let filter = UInt32(digits, radix: 16), filter == kernelsDefault else { return }
        let narrowed = Array("0x\(String(headersOfFiles, radix: 16))\n".utf8)
        _ = unsafe write(file.raw, narrowed, narrowed.count)
    }

    /// Private and shared anonymous memory, ELF headers and private huge pages.
    private static let kernelsDefault: UInt32 = 0x33
    /// The first page of each mapped program and library. It contains the build id, which tells a debugger the matching
    /// files.
    private static let headersOfFiles: UInt32 = 0x10
}
