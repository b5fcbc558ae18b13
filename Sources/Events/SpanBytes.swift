import Glibc

// The one home of copying, comparing and finding bytes at memcpy's speed.

extension Array<UInt8> {
    /// Appends a copy of the bytes.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>) {
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

extension OutputSpan<UInt8> {
    /// Appends a copy of the bytes.
    /// - Precondition: there is room for them.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>) {
        precondition(bytes.count <= freeCapacity, "there is no room for these bytes")
        unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                guard let from = bytes.baseAddress, let to = buffer.baseAddress else { return }
                unsafe memcpy(to + initialized, from, bytes.count)
                initialized += bytes.count
            }
        }
    }
}

extension Span<UInt8> {
    /// Whether both hold the same bytes.
    @inlinable @inline(__always)
    package func hasBytes(of other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBufferPointer { a in
            unsafe other.withUnsafeBufferPointer { b in
                guard let a = a.baseAddress, let b = b.baseAddress else { return true }
                return unsafe memcmp(a, b, other.count) == 0
            }
        }
    }

    /// The first place of a byte within a range.
    @inlinable @inline(__always)
    package func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        unsafe extracting(range).withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress, let found = unsafe memchr(start, Int32(byte), bytes.count) else {
                return nil
            }
            return unsafe range.lowerBound + (UnsafeRawPointer(found) - UnsafeRawPointer(start))
        }
    }
}
