/// A batch as one gzip member.
final class GzipCompressor: PayloadCompressor {
    /// zlib's usual: files are kept, so size counts more than it does on the wire.
    private static let level: Int32 = 6

    private let gzip: Gzip

    init() throws {
        guard let gzip = Gzip(level: Self.level) else {
            throw FileDestinationError("zlib cannot be set up; is there memory left?")
        }
        self.gzip = gzip
    }

    func compress(_ bytes: Span<UInt8>, into output: inout [UInt8]) throws {
        guard let member = gzip.compress(bytes) else {
            throw FileDestinationError("a batch of \(bytes.count) bytes cannot be compressed; lower batch.bytes")
        }
        output += member
    }
}
