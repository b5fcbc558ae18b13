/// Turns one batch's payload into one unit that stands for itself (a gzip member, a zstd frame), so
/// that a file is whole after each batch and files can be cut and joined between batches. One
/// thread at a time.
protocol PayloadCompressor: AnyObject {
    /// Appends to `output`.
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
