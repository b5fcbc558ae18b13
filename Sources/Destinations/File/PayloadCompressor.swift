/// Compresses one batch's payload into one self-contained unit (a gzip member, a zstd frame). So a file is complete
/// after each batch, and files can be cut and joined between batches. Use by one thread at a time.
protocol PayloadCompressor: AnyObject {
    /// Appends the compressed unit to `output`.
    func compress(_ bytes: Span<UInt8>, into output: inout [UInt8]) throws
}

extension FileDestinationOptions.Compression {
    func makeCompressor() throws -> (any PayloadCompressor)? {
        switch self {
        case .none: nil
        case .gzip: try GzipCompressor()
        case .zstd: try ZstdCompressor()
        }
    }
}
