// Numbers in the files' format: little-endian, at any alignment.

extension RawSpan {
    /// - Precondition: the number lies within the span (checked).
    @inline(__always)
    func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type, at offset: Int) -> Number {
        // The load is unsafe only for types with invalid bit patterns; integers have none.
        unsafe Number(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}

extension Span<UInt8> {
    /// The same bytes, untyped. Unsafe only for types with padding; a byte has none.
    @inline(__always)
    var raw: RawSpan {
        @_lifetime(copy self) get { unsafe bytes }
    }
}

extension [UInt8] {
    mutating func append<Number: FixedWidthInteger>(number: Number) {
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
            append(UInt8(truncatingIfNeeded: number >> Number(shift)))
        }
    }

    /// - Precondition: the number's bytes lie within the array (checked).
    mutating func replace<Number: FixedWidthInteger>(number: Number, at offset: Int) {
        for byte in 0..<Number.bitWidth / 8 {
            self[offset + byte] = UInt8(truncatingIfNeeded: number >> Number(8 * byte))
        }
    }

    /// Appends zeros up to the next multiple of eight.
    mutating func pad() {
        while count % 8 != 0 { append(0) }
    }
}

extension Int {
    /// The value rounded up to a multiple of eight.
    @inline(__always)
    var paddedTo8: Int { (self &+ 7) & ~7 }
}

extension RawSpan {
    /// Some of the bytes. Unsafe only for types with invalid bit patterns; a byte has none.
    @inline(__always)
    @_lifetime(copy self)
    func text(_ range: Range<Int>) -> Span<UInt8> { unsafe extracting(range)._unsafeView(as: UInt8.self) }

    /// A copy of some of the bytes.
    func array(_ range: Range<Int>) -> [UInt8] {
        unsafe extracting(range).withUnsafeBytes { unsafe Array($0) }
    }
}
