import CZstd

/// libzstd, writing one frame (RFC 8878) with a checksum for each batch. The one place that calls
/// libzstd for files.
@safe final class ZstdCompressor: PayloadCompressor {
    private let context: OpaquePointer

    init() throws {
        guard let context = unsafe ZSTD_createCCtx() else {
            throw FileDestinationError("zstd cannot be set up; is there memory left?")
        }
        unsafe self.context = unsafe context
        unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    }

    deinit { unsafe ZSTD_freeCCtx(context) }

    func compress(_ bytes: Span<UInt8>, into output: inout [UInt8]) throws {
        let bound = ZSTD_compressBound(bytes.count)
        var code = 0
        output.append(addingCapacity: bound) { span in
            unsafe span.withUnsafeMutableBufferPointer { buffer, initialized in
                unsafe bytes.withUnsafeBufferPointer { input in
                    code = unsafe ZSTD_compress2(
                        context, buffer.baseAddress.map { unsafe $0 + initialized }, bound, input.baseAddress, input.count)
                    if ZSTD_isError(code) == 0 { initialized += code }
                }
            }
        }
        guard ZSTD_isError(code) == 0 else {
            throw FileDestinationError("zstd could not compress a batch: \(unsafe String(cString: ZSTD_getErrorName(code)))")
        }
    }
}
