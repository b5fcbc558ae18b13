import CSimdjson

// Fast copying, comparing and searching of bytes, at the speed of memcpy.

extension [UInt8] {
    /// Appends a copy of the bytes.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { free in
            unsafe free.withUnsafeMutableBufferPointer { free, initialized in
                unsafe bytes.withUnsafeBufferPointer { bytes in
                    // An empty buffer may have no address, and memcpy must not receive a null pointer.
                    guard let from = bytes.baseAddress, let to = free.baseAddress else { return }
                    unsafe psj_copy(to, from, bytes.count)
                    initialized = bytes.count
                }
            }
        }
    }
}

extension OutputSpan<UInt8> {
    /// Appends a copy of the bytes.
    /// - Precondition: they fit.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>) {
        precondition(bytes.count <= freeCapacity, "there is no room for these bytes")
        unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                guard let from = bytes.baseAddress, let to = buffer.baseAddress else { return }
                unsafe psj_copy(to + initialized, from, bytes.count)
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
                return unsafe psj_equal(a, b, other.count) != 0
            }
        }
    }

    /// The index of the first occurrence of a byte in a range; nil if it does not occur.
    @inlinable @inline(__always)
    package func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        unsafe extracting(range).withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress, let found = unsafe psj_find(start, byte, bytes.count) else {
                return nil
            }
            return unsafe range.lowerBound + (UnsafeRawPointer(found) - UnsafeRawPointer(start))
        }
    }

    /// The index of the first occurrence of either of two bytes in a range; nil if neither occurs. For short distances:
    /// it compares eight bytes at a time and makes no call.
    @inlinable @inline(__always)
    package func firstIndex(of one: UInt8, or other: UInt8, in range: Range<Int>) -> Int? {
        unsafe extracting(range).withUnsafeBytes { bytes in
            let (low, high): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
            let (ones, others) = (low &* UInt64(one), low &* UInt64(other))
            var position = 0
            while position &+ 8 <= bytes.count {
                let word = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                // A matching byte is zero in `a` or `b`. The lowest zero byte is found exactly.
                let (a, b) = (word ^ ones, word ^ others)
                let found = ((a &- low) & ~a | (b &- low) & ~b) & high
                if found != 0 { return range.lowerBound &+ position &+ found.trailingZeroBitCount / 8 }
                position &+= 8
            }
            while position < bytes.count {
                let byte = unsafe bytes[position]
                if byte == one || byte == other { return range.lowerBound &+ position }
                position &+= 1
            }
            return nil
        }
    }
}
