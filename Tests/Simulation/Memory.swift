import Glibc

/// Operations on bytes that are frequent enough to determine the number of worlds per second.
enum Memory {
    /// Makes malloc keep freed memory. A world's files are large enough to get mappings of their own, and mapping
    /// a page again costs more than the work on it.
    static func keep() {
        // Swift's Glibc module does not include malloc.h.
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        let mallopt = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let (trimThreshold, topPad, mmapThreshold): (Int32, Int32, Int32) = (-1, -2, -3)
        _ = mallopt(mmapThreshold, 32 << 20)
        _ = mallopt(trimThreshold, 1 << 30)
        _ = mallopt(topPad, 16 << 20)
    }

    /// The index after the last nonzero byte of the range. The range's lower bound if all bytes are zero.
    static func usedEnd(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            var end = range.upperBound
            while end - range.lowerBound >= 8, unsafe bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self) == 0
            { end -= 8 }
            while end > range.lowerBound, unsafe bytes[end - 1] == 0 { end -= 1 }
            return end
        }
    }

    static func isZero(_ bytes: [UInt8]) -> Bool { usedEnd(bytes, bytes.indices) == 0 }

    /// Whether `count` bytes of `a`, from its start, equal those of `b` at the offset.
    static func areEqual(_ a: [UInt8], _ b: [UInt8], at offset: Int, count: Int) -> Bool {
        guard count > 0 else { return true }
        precondition(count <= a.count && offset >= 0 && count <= b.count - offset, "the range is outside the bytes")
        return unsafe a.withUnsafeBufferPointer { a in
            unsafe b.withUnsafeBufferPointer { b in
                guard let first = a.baseAddress, let second = b.baseAddress else { return false }
                return unsafe memcmp(first, second + offset, count) == 0
            }
        }
    }

    /// Whether the text contains the part.
    static func contains(_ text: String, _ part: StaticString) -> Bool {
        let count = part.utf8CodeUnitCount
        var text = text
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress, bytes.count >= count else { return false }
            return (0...bytes.count - count).contains { unsafe memcmp(start + $0, part.utf8Start, count) == 0 }
        }
    }
}
