import CZlib

/// Compresses one whole body after the other into the gzip format (RFC 1952), with one set of
/// zlib's tables (about 270 KB) for all of them. One thread at a time.
///
/// What is unsafe here: zlib's stream, which must not move in memory; owned and freed by this
/// object.
@safe final class Gzip {
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Parameter level: 1, fast, to 9, small. 1 takes repetitive JSON down to a tenth or so
    ///   already, at a third of the time of zlib's usual 6.
    /// nil: out of memory.
    init?(level: Int32 = 1) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // 15 bits of window, plus 16: a gzip header. 8: zlib's usual share of memory.
        let code = unsafe deflateInit2_(
            stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        if code != Z_OK { return nil }
    }

    deinit {
        // Of a stream that was never set up this is refused, and does nothing.
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// nil: the body is larger than zlib can count (4 GiB).
    func compress(_ body: Span<UInt8>) -> [UInt8]? {
        guard let available = UInt32(exactly: body.count) else { return nil }
        unsafe deflateReset(stream)
        let bound = unsafe Int(deflateBound(stream, UInt(body.count)))
        guard let room = UInt32(exactly: bound) else { return nil }
        var ended = false
        let output = unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            unsafe body.withUnsafeBufferPointer { input in
                // zlib only reads from it, whatever its type says.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                unsafe stream.pointee.avail_in = available
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = room
                ended = unsafe deflate(stream, Z_FINISH) == Z_STREAM_END
                unsafe stream.pointee.next_in = nil
            }
            unsafe count = bound - Int(stream.pointee.avail_out)
        }
        return ended ? output : nil
    }
}
