/// Warns about a file whose name suggests compression although it is not compressed.
enum CompressionAdvice {
    /// Extensions of compressed formats that a file destination cannot write.
    private static let others: Set<String> = [
        "bz2", "bzip2", "xz", "lzma", "lz4", "lzo", "br", "z", "zip", "7z", "rar", "snappy", "sz", "zz", "zlib",
        "deflate", "tgz", "tar",
    ]
    /// Other spellings of the formats that it can write.
    private static let spellings = ["gzip": "gz", "zstd": "zst", "zs": "zst"]

    /// nil: no advice on this path.
    static func advice(on path: String) -> (message: String, hint: String)? {
        guard let name = path.split(separator: "/").last, let dot = name.lastIndex(of: "."), dot != name.startIndex
        else { return nil }
        let written = String(name[name.index(after: dot)...])
        guard !["gz", "zst"].contains(written) else { return nil }
        let message = ".\(written) does not compress the file: it contains plain text"
        if ["gz", "zst"].contains(written.lowercased()) { return (message, "write .\(written.lowercased())") }
        if let meant = spellings[written.lowercased()] { return (message, "write .\(meant)") }
        return others.contains(written.lowercased())
            ? (message, "write .gz or .zst to compress it, or leave .\(written) out") : nil
    }
}
