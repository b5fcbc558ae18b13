/// Compresses request bodies, one at a time. Use on one thread at a time.
enum BodyCompressor {
    case gzip(Gzip)
    case zstd(Zstd)

    /// Uses fast levels, so that compression is not slower than the network.
    /// Returns nil if out of memory, or if `compression` is `none`.
    init?(_ compression: HTTPOptions.Compression) {
        switch compression {
        case .none: return nil
        case .gzip:
            guard let gzip = Gzip() else { return nil }
            self = .gzip(gzip)
        case .zstd:
            guard let zstd = Zstd(level: 1, checksum: false) else { return nil }
            self = .zstd(zstd)
        }
    }

    /// nil: the body is too large to compress in one piece.
    func compress(_ body: Span<UInt8>) -> [UInt8]? {
        switch self {
        case .gzip(let gzip): return gzip.compress(body)
        case .zstd(let zstd):
            var output: [UInt8] = []
            return zstd.compress(body, into: &output) == nil ? output : nil
        }
    }
}
