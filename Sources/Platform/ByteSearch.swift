import Glibc

extension UnsafeRawBufferPointer {
    /// The place of the first byte of this value; nil: there is none. memchr(3): many bytes at a time.
    package func firstIndex(ofByte byte: UInt8) -> Int? {
        guard let base = baseAddress, let found = unsafe memchr(base, Int32(byte), count) else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }
}
