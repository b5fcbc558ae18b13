import Glibc

/// What this process leaves in a core dump.
package enum CoreDumps {
    /// Leaves the process's memory out of its core dumps (coredump_filter, core(5)), and out of those of the processes that
    /// it starts: heap and stacks hold secrets, in libcurl's and OpenSSL's own copies too, and events. Registers and the
    /// list of libraries stay in.
    ///
    /// Only the kernel's default is narrowed: who sets another filter (systemd's CoredumpFilter=) wants just that. Does
    /// nothing where the kernel has no core dumps.
    package static func leaveMemoryOut() {
        guard let file = try? FileDescriptor.open("/proc/self/coredump_filter", O_RDWR), let bytes = try? file.read(upTo: 64) else {
            return
        }
        let digits = String(decoding: bytes, as: UTF8.self).prefix { $0.isHexDigit }
        guard let filter = UInt32(digits, radix: 16), filter == kernelsDefault else { return }
        let narrowed = Array("0x\(String(headersOfFiles, radix: 16))\n".utf8)
        _ = unsafe write(file.raw, narrowed, narrowed.count)
    }

    /// Private and shared anonymous memory, ELF headers, private huge pages.
    private static let kernelsDefault: UInt32 = 0x33
    /// The first page of each mapped program and library: its build id, by which a debugger finds their files.
    private static let headersOfFiles: UInt32 = 0x10
}
