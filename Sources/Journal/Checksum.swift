import CISAL

/// CRC32C (Castagnoli; RFC 3720, appendix B.4), taken up where it was left: the checksum of a
/// concatenation, piece by piece. The standard vector "123456789" gives 0xE3069283.
package struct Checksum: BitwiseCopyable, Sendable {
    // The library neither inverts what it is given nor what it returns; the standard does both.
    private var state: UInt32 = ~0
    fileprivate var protections = Protections.all

    package init() {}

    package var value: UInt32 { ~state }

    /// Whether it is the one that was stored.
    package func matches(_ stored: UInt32, _ check: Protections) -> Bool {
        value == stored || !protections.contains(check)
    }

    package mutating func update(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { buffer in
            guard var start = buffer.baseAddress else { return }
            var left = buffer.count
            // The library counts in a C int.
            while left > 0 {
                let count = min(left, 1 << 30)
                // The library only reads; its parameter merely lacks the `const`.
                let bytes = unsafe UnsafeMutableRawPointer(mutating: start).assumingMemoryBound(to: UInt8.self)
                unsafe state = crc32_iscsi(bytes, Int32(count), state)
                unsafe start += count
                left -= count
            }
        }
    }

    /// The number's eight bytes, little-endian.
    package mutating func update(_ number: UInt64) {
        let bytes: InlineArray<8, UInt8> = .init { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
        update(bytes.span.raw)
    }

    package static func of(_ bytes: RawSpan) -> UInt32 {
        var checksum = Checksum()
        checksum.update(bytes)
        return checksum.value
    }

    /// Whether two checksums were continued from the same one, which nobody knows.
    ///
    /// A CRC is linear: the state behind some bytes is the state in front of them, carried over as many zeros, plus (exclusive
    /// or) what the bytes alone give. Without the latter, two states that began alike differ by the zeros only.
    /// - Parameter a: bytes, and the checksum that ends with them.
    package static func beginAlike(_ a: (bytes: RawSpan, value: UInt32), _ b: (bytes: RawSpan, value: UInt32)) -> Bool {
        let (short, long) = a.bytes.byteCount <= b.bytes.byteCount ? (a, b) : (b, a)
        var carried = Checksum()
        carried.state = beginning(short)
        carried.update([UInt8](repeating: 0, count: long.bytes.byteCount - short.bytes.byteCount).span.raw)
        return carried.state == beginning(long)
    }

    /// The beginning's state, carried over as many zeros as there are bytes.
    private static func beginning(_ piece: (bytes: RawSpan, value: UInt32)) -> UInt32 {
        var alone = Checksum()
        alone.state = 0
        alone.update(piece.bytes)
        return alone.state ^ ~piece.value
    }
}

/// Where a segment's checksums begin: at the journal's UUID and the segment's first position. To
/// these each batch adds its own offset, so that bytes which belong elsewhere (a recycled block,
/// a copied file) never pass.
package struct ChecksumSeed: BitwiseCopyable, Sendable {
    private var base: Checksum
    /// What the simulator left on.
    var protections: Protections { base.protections }

    package init(uuid: JournalUUID, firstPosition: UInt64, _ protections: Protections = .all) {
        base = Checksum()
        base.protections = protections
        if protections.contains(.checksumUUID) { base.update(uuid.bytes.span.raw) }
        base.update(protections.contains(.checksumSegment) ? firstPosition : 0)
    }

    /// - Parameter offset: of the batch's header in the segment file.
    @inline(__always)
    package func at(_ offset: Int) -> Checksum {
        var checksum = base
        checksum.update(base.protections.contains(.checksumOffset) ? UInt64(truncatingIfNeeded: offset) : 0)
        return checksum
    }
}
