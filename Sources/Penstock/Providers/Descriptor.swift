#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// An open file or socket, which is closed when the last reference is released.
final class Descriptor: Sendable {
    let number: Int32

    /// Opens a file. A file that this creates is accessible to its owner only.
    /// - Returns: nil on failure, with the reason in errno.
    convenience init?(opening path: String, _ flags: Int32) {
        self.init(owning: unsafe open(path, flags | O_CLOEXEC, 0o600))
    }

    /// - Parameter number: An open descriptor, which this object takes over; nil is returned if it is negative.
    init?(owning number: Int32) {
        guard number >= 0 else { return nil }
        self.number = number
        // Darwin cannot open a socket with close-on-exec. On other systems the flag is already set.
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(number) }

    /// Writes all bytes.
    /// - Returns: False on failure, with the reason in errno. Some of the bytes may have been written.
    func write(_ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe systemWrite(number, buffer.baseAddress?.advanced(by: done), buffer.count - done)
            }
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Reads up to `count` bytes at an offset, fewer at the end of the file. Returns nil on failure, with the reason in
    /// errno.
    func read(_ count: Int, at offset: Int) -> [UInt8]? {
        var done = 0
        var failed = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while done < count {
                let got = unsafe pread(
                    number, buffer.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
                if got == 0 { break }
                if got > 0 {
                    done += got
                } else if errno != EINTR {
                    failed = true
                    break
                }
            }
            initialized = done
        }
        return failed ? nil : bytes
    }

    /// The file's size in bytes; nil on failure, with the reason in errno.
    func size() -> Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { return nil }
        return Int(status.st_size)
    }
}

private func systemWrite(_ number: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(number, bytes, count)
}

/// The system's text for an errno value.
package func systemErrorText(_ code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}

/// The value of errno, for code that makes no system calls itself.
func lastSystemError() -> Int32 { errno }
