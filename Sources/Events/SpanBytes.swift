import Glibc

// The one home of copying and comparing bytes at memcpy's speed.

extension Array<UInt8> {
    /// Appends a copy of the bytes.
    @inlinable @inline(__always)
    public mutating func append(contentsOf bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { free in
            unsafe free.withUnsafeMutableBufferPointer { free, initialized in
                unsafe bytes.withUnsafeBufferPointer { bytes in
                    // An empty buffer may have no address, and memcpy must not be given that.
                    guard let from = bytes.baseAddress, let to = free.baseAddress else { return }
                    unsafe memcpy(to, from, bytes.count)
                    initialized = bytes.count
                }
            }
        }
    }
}

extension Span<UInt8> {
    /// Whether both hold the same bytes.
    @inlinable @inline(__always)
    public func hasBytes(of other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBufferPointer { a in
            unsafe other.withUnsafeBufferPointer { b in
                guard let a = a.baseAddress, let b = b.baseAddress else { return true }
                return unsafe memcmp(a, b, other.count) == 0
            }
        }
    }
}
