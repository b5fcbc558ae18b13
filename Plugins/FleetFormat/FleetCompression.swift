import CZstd

/// Compresses bodies. Belongs to one thread at a time.
///
/// Unsafe part: the library's context, which this object owns.
@safe package final class FleetCompressor {
    private let context: OpaquePointer
    /// Kept, because fresh memory for each frame costs more than the frame.
    private var scratch: [UInt8] = []

    /// - Parameter level: of zstd, from -7 (quickest) to 19.
    package init(level: Int) {
        guard let context = unsafe ZSTD_createCCtx() else { fatalError("out of memory") }
        unsafe self.context = context
        unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(clamping: level))
        unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    }

    deinit { unsafe ZSTD_freeCCtx(context) }

    package func compress(_ body: Span<UInt8>) -> [UInt8] {
        let bound = ZSTD_compressBound(body.count)
        if scratch.count < bound { scratch = [UInt8](repeating: 0, count: bound) }
        defer { if bound > Self.kept { scratch = [] } }
        return unsafe scratch.withUnsafeMutableBytes { scratch in
            let size = unsafe body.withUnsafeBytes { bytes in
                unsafe ZSTD_compress2(context, scratch.baseAddress, scratch.count, bytes.baseAddress, bytes.count)
            }
            // The buffer has the size that always suffices.
            precondition(ZSTD_isError(size) == 0, "zstd cannot compress")
            return unsafe Array(scratch[..<size])
        }
    }

    private static let kept = 2 << 20
}

/// Expands bodies that may come from anyone. Belongs to one thread at a time.
///
/// Unsafe part: the library's context, which this object owns.
@safe package final class FleetExpander {
    private let context: OpaquePointer
    private let limit: Int

    /// - Parameter limit: the most bytes of a body.
    package init(limit: Int) {
        guard let context = unsafe ZSTD_createDCtx() else { fatalError("out of memory") }
        unsafe self.context = context
        self.limit = limit
    }

    deinit { unsafe ZSTD_freeDCtx(context) }

    /// - Returns: nil: it is no whole frame of a known size, its checksum does not match, or the body is larger than
    ///   the limit.
    package func expand(_ frame: UnsafeRawBufferPointer) -> [UInt8]? {
        let size = unsafe ZSTD_getFrameContentSize(frame.baseAddress, frame.count)
        // Errors and unknown sizes are the largest numbers.
        guard size <= UInt64(limit) else { return nil }
        var isWhole = false
        let body = unsafe [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            let expanded = unsafe ZSTD_decompressDCtx(
                context, buffer.baseAddress, buffer.count, frame.baseAddress, frame.count)
            isWhole = ZSTD_isError(expanded) == 0 && expanded == Int(size)
            count = isWhole ? expanded : 0
        }
        return isWhole ? body : nil
    }
}
