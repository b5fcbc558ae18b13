/// Compresses request bodies, one after the other. One thread at a time.
enum BodyCompressor {
    case gzip(Gzip)
    case zstd(Zstd)

    /// Fast settings: what counts on the wire is not to be slower than it.
    /// nil: out of memory, or there is nothing to compress with.
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

    /// nil: the body is larger than can be compressed at once.
    func compress(_ body: Span<UInt8>) -> [UInt8]? {
        switch self {
        case .gzip(let gzip): return gzip.compress(body)
        case .zstd(let zstd):
            var output: [UInt8] = []
            return zstd.compress(body, into: &output) == nil ? output : nil
        }
    }
}
