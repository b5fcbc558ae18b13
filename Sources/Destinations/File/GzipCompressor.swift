/// Compresses a batch into one gzip member.
final class GzipCompressor: PayloadCompressor {
    /// zlib's default: files are kept, so size matters more than on the wire.
    private static let level: Int32 = 6

    private let gzip: Gzip

    init() throws {
        guard let gzip = Gzip(level: Self.level) else {
            throw FileDestinationError("cannot set up zlib, probably for lack of memory; free some memory")
        }
        self.gzip = gzip
    }

    func compress(_ bytes: Span<UInt8>, into output: inout [UInt8]) throws {
        guard let member = gzip.compress(bytes) else {
            throw FileDestinationError("cannot compress a batch of \(bytes.count) bytes; lower batch.bytes")
        }
        output += member
    }
}
