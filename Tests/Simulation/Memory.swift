import Glibc

/// What is done to bytes so often that it decides how many worlds a second holds.
enum Memory {
    /// Keeps memory that was given back: files of a world are large enough to be mapped one by one, and a page that is mapped
    /// anew costs more than what is done with it.
    static func keep() {
        // malloc.h is not part of Swift's Glibc.
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        let mallopt = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let (trimThreshold, topPad, mmapThreshold): (Int32, Int32, Int32) = (-1, -2, -3)
        _ = mallopt(mmapThreshold, 32 << 20)
        _ = mallopt(trimThreshold, 1 << 30)
        _ = mallopt(topPad, 16 << 20)
    }

    /// Behind the last byte of the range that is not zero; its lower bound where all are.
    static func usedEnd(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            var end = range.upperBound
            while end - range.lowerBound >= 8, unsafe bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self) == 0 { end -= 8 }
            while end > range.lowerBound, unsafe bytes[end - 1] == 0 { end -= 1 }
            return end
        }
    }

    static func isZero(_ bytes: [UInt8]) -> Bool { usedEnd(bytes, bytes.indices) == 0 }

    /// Whether as many bytes of both are the same.
    static func areEqual(_ a: [UInt8], _ b: [UInt8], at offset: Int, count: Int) -> Bool {
        guard count > 0 else { return true }
        precondition(count <= a.count && offset >= 0 && count <= b.count - offset, "outside of the bytes")
        return unsafe a.withUnsafeBufferPointer { a in
            unsafe b.withUnsafeBufferPointer { b in
                guard let first = a.baseAddress, let second = b.baseAddress else { return false }
                return unsafe memcmp(first, second + offset, count) == 0
            }
        }
    }

    /// Whether the text has the other one in it.
    static func contains(_ text: String, _ part: StaticString) -> Bool {
        let count = part.utf8CodeUnitCount
        var text = text
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress, bytes.count >= count else { return false }
            return (0...bytes.count - count).contains { unsafe memcmp(start + $0, part.utf8Start, count) == 0 }
        }
    }
}
