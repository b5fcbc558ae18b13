#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An open file or socket; closed when nobody has it any more.
final class Descriptor: Sendable {
    let number: Int32

    /// Opens a file; what it makes, nobody else may read.
    /// - Returns: nil: errno says why.
    convenience init?(opening path: String, _ flags: Int32) {
        self.init(owning: unsafe open(path, flags | O_CLOEXEC, 0o600))
    }

    /// - Parameter number: of what is open, and belongs to nobody else; nil if it is negative.
    init?(owning number: Int32) {
        guard number >= 0 else { return nil }
        self.number = number
        // Darwin cannot open a socket so; elsewhere this has been said already.
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(number) }

    /// Writes all of it.
    /// - Returns: false: some of it, at most, was written; errno says why.
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

    /// Reads up to `count` bytes at an offset; fewer at the file's end. Nil: errno says why.
    func read(_ count: Int, at offset: Int) -> [UInt8]? {
        var done = 0
        var failed = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while done < count {
                let got = unsafe pread(number, buffer.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
                if got == 0 { break }
                if got > 0 { done += got } else if errno != EINTR {
                    failed = true
                    break
                }
            }
            initialized = done
        }
        return failed ? nil : bytes
    }

    /// In bytes; nil: errno says why.
    func size() -> Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { return nil }
        return Int(status.st_size)
    }
}

private func systemWrite(_ number: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(number, bytes, count)
}

/// What errno says, in words.
func systemErrorText(_ code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}

/// errno, for those who make no system calls of their own.
func lastSystemError() -> Int32 { errno }
