import CZstd

/// Compresses whole bodies into zstd frames (RFC 8878), one after the other, with one context. No other file calls
/// libzstd. Use by one thread at a time.
///
/// Unsafe here: the context's memory. This object owns and frees it.
@safe final class Zstd {
    private let context: OpaquePointer

    /// - Parameters:
    ///   - level: 1 (fast) to 19 (small); 3 is libzstd's default.
    ///   - checksum: each frame ends with a checksum of its contents.
    /// - Returns: nil if memory is exhausted.
    init?(level: Int32, checksum: Bool) {
        guard let context = unsafe ZSTD_createCCtx() else { return nil }
        unsafe self.context = unsafe context
        unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
        unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0)
    }

    deinit { unsafe ZSTD_freeCCtx(context) }

    /// Appends the frame to `output`.
    /// - Returns: nil, or libzstd's error text; nothing is appended then.
    func compress(_ body: Span<UInt8>, into output: inout [UInt8]) -> String? {
        let bound = ZSTD_compressBound(body.count)
        var code = 0
        output.append(addingCapacity: bound) { span in
            unsafe span.withUnsafeMutableBufferPointer { buffer, initialized in
                unsafe body.withUnsafeBufferPointer { input in
                    code = unsafe ZSTD_compress2(
                        context, buffer.baseAddress.map { unsafe $0 + initialized }, bound, input.baseAddress,
                        input.count)
                    if ZSTD_isError(code) == 0 { initialized += code }
                }
            }
        }
        return unsafe ZSTD_isError(code) == 0 ? nil : String(cString: ZSTD_getErrorName(code))
    }
}
