import CZlib

/// zlib's deflate, writing gzip members (RFC 1952). The one place that calls zlib for files.
///
/// The stream lies behind a pointer because zlib remembers its address (zlib.h: deflate checks it).
@safe final class GzipCompressor: PayloadCompressor {
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // 15 bits of window, and 16 for "gzip, not zlib" (zlib.h, deflateInit2).
        let code = unsafe deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            unsafe stream.deallocate()
            throw FileDestinationError("zlib cannot be set up (code \(code)); is there memory left?")
        }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    func compress(_ bytes: Span<UInt8>, into output: inout [UInt8]) throws {
        guard let count = UInt32(exactly: bytes.count), count <= UInt32.max / 2 else {
            throw FileDestinationError("a batch of \(bytes.count) bytes is too large to compress; lower batch.bytes")
        }
        unsafe deflateReset(stream)
        let bound = Int(unsafe deflateBound(stream, UInt(count)))
        var code = Z_OK
        output.append(addingCapacity: bound) { span in
            unsafe span.withUnsafeMutableBufferPointer { buffer, initialized in
                unsafe bytes.withUnsafeBufferPointer { input in
                    // zlib does not write to its input; the field lacks a const for historic reasons.
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                    unsafe stream.pointee.avail_in = count
                    unsafe stream.pointee.next_out = buffer.baseAddress.map { unsafe $0 + initialized }
                    unsafe stream.pointee.avail_out = UInt32(clamping: bound)
                    code = unsafe deflate(stream, Z_FINISH)
                    initialized += bound - Int(unsafe stream.pointee.avail_out)
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.next_out = nil
                }
            }
        }
        guard code == Z_STREAM_END else { throw FileDestinationError("zlib could not compress a batch (code \(code))") }
    }
}
