/// A batch as one zstd frame, with a checksum.
final class ZstdCompressor: PayloadCompressor {
    /// libzstd's usual.
    private static let level: Int32 = 3

    private let zstd: Zstd

    init() throws {
        guard let zstd = Zstd(level: Self.level, checksum: true) else {
            throw FileDestinationError("zstd cannot be set up; is there memory left?")
        }
        self.zstd = zstd
    }

    func compress(_ bytes: Span<UInt8>, into output: inout [UInt8]) throws {
        if let problem = zstd.compress(bytes, into: &output) {
            throw FileDestinationError("zstd could not compress a batch: \(problem)")
        }
    }
}
