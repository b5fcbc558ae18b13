/// Compresses a batch into one zstd frame with a checksum.
final class ZstdCompressor: PayloadCompressor {
    /// libzstd's default.
    private static let level: Int32 = 3

    private let zstd: Zstd

    init() throws {
        guard let zstd = Zstd(level: Self.level, checksum: true) else {
            throw FileDestinationError("cannot set up zstd, probably for lack of memory; free some memory")
        }
        self.zstd = zstd
    }

    func compress(_ bytes: Span<UInt8>, into output: inout [UInt8]) throws {
        if let problem = zstd.compress(bytes, into: &output) {
            throw FileDestinationError("zstd cannot compress a batch: \(problem)")
        }
    }
}
