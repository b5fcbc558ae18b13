import CISAL

/// CRC32C (Castagnoli; RFC 3720, appendix B.4), computed piece by piece. The standard vector "123456789" gives
/// 0xE3069283. `BatchHeader` and `CommitBuffer` compute it for batches.
package struct Checksum: BitwiseCopyable, Sendable {
    // The library inverts neither its argument nor its result; the standard inverts both.
    private var state: UInt32 = ~0
    fileprivate var protections = Protections.all

    package init() {}

    package var value: UInt32 { ~state }

    /// Whether the checksum equals the stored one. Always true if the simulator took this check out.
    package func matches(_ stored: UInt32, _ check: Protections) -> Bool {
        value == stored || !protections.contains(check)
    }

    package mutating func update(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { buffer in
            guard var start = buffer.baseAddress else { return }
            var left = buffer.count
            // The library takes the count as a C int.
            while left > 0 {
                let count = min(left, 1 << 30)
                // The library only reads; its parameter lacks the `const`.
                let bytes = unsafe UnsafeMutableRawPointer(mutating: start).assumingMemoryBound(to: UInt8.self)
                unsafe state = crc32_iscsi(bytes, Int32(count), state)
                unsafe start += count
                left -= count
            }
        }
    }

    /// Adds the number's eight bytes, little-endian.
    package mutating func update(_ number: UInt64) {
        let bytes: InlineArray<8, UInt8> = .init { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
        update(bytes.span.raw)
    }

    package static func of(_ bytes: RawSpan) -> UInt32 {
        var checksum = Checksum()
        checksum.update(bytes)
        return checksum.value
    }

    /// Whether two checksums were continued from the same, unknown checksum.
    ///
    /// A CRC is linear: the state after some bytes is the state before them, continued over as many zeros, XOR the CRC
    /// of the bytes alone. With the latter removed, two states with the same beginning differ only by zeros.
    /// - Parameter a: bytes, and the checksum after them.
    package static func beginAlike(_ a: (bytes: RawSpan, value: UInt32), _ b: (bytes: RawSpan, value: UInt32)) -> Bool {
        let (short, long) = a.bytes.byteCount <= b.bytes.byteCount ? (a, b) : (b, a)
        var carried = Checksum()
        carried.state = beginning(short)
        carried.update([UInt8](repeating: 0, count: long.bytes.byteCount - short.bytes.byteCount).span.raw)
        return carried.state == beginning(long)
    }

    /// The state before the bytes, continued over as many zeros.
    private static func beginning(_ piece: (bytes: RawSpan, value: UInt32)) -> UInt32 {
        var alone = Checksum()
        alone.state = 0
        alone.update(piece.bytes)
        return alone.state ^ ~piece.value
    }
}

/// The beginning of a segment's checksums: the journal's UUID and the segment's first position. Each batch adds its own
/// offset, so bytes from another place (a recycled block, a copied file) never pass.
package struct ChecksumSeed: BitwiseCopyable, Sendable {
    private var base: Checksum
    /// The protections that the simulator left on.
    var protections: Protections { base.protections }

    package init(uuid: JournalUUID, firstPosition: UInt64, _ protections: Protections = .all) {
        base = Checksum()
        base.protections = protections
        if protections.contains(.checksumUUID) { base.update(uuid.bytes.span.raw) }
        base.update(protections.contains(.checksumSegment) ? firstPosition : 0)
    }

    /// - Parameter offset: the offset of the batch's header in the segment file.
    @inline(__always)
    package func at(_ offset: Int) -> Checksum {
        var checksum = base
        checksum.update(base.protections.contains(.checksumOffset) ? UInt64(truncatingIfNeeded: offset) : 0)
        return checksum
    }
}
