import Platform

/// A retry of dead letters that is in progress. It is stored beside them in the file `retry`, so that it continues
/// after a restart: a title, the caller's bytes, and a checksum of both. Format.md specifies the layout.
enum RetryNote {
    static let name = "retry"
    private static let title = Array("penstock-retry 1\n".utf8)
    private static let limit = 64 << 20
    /// The size of `crc32c `, eight digits, and a line feed.
    private static let endSize = 16

    /// - Returns: nil if the file does not exist or is damaged: then the operator must request the retry again.
    static func read(in directory: String, _ context: JournalContext) throws(SystemError) -> [UInt8]? {
        guard let bytes = try JournalContext.contents(directory + "/" + name, limit: limit, context.disk),
            bytes.count >= title.count + endSize, bytes.starts(with: title)
        else { return nil }
        let body = Array(bytes.dropLast(endSize))
        return bytes.suffix(endSize).elementsEqual(end(of: body)) ? Array(body.dropFirst(title.count).dropLast()) : nil
    }

    static func write(_ note: [UInt8]?, in directory: String, _ context: JournalContext) throws(SystemError) {
        let path = directory + "/" + name
        guard let note else {
            if try context.disk.status(path) != nil { try context.disk.remove(path) }
            return try context.disk.syncDirectory(directory)
        }
        let body = title + note + [10]
        let file = try context.disk.open(path + ".new", .createOrReadWrite)
        try file.truncate(to: 0)
        try file.write((body + end(of: body)).span, at: 0)
        try file.sync()
        try context.disk.rename(path + ".new", to: path)
        try context.disk.syncDirectory(directory)
    }

    private static func end(of body: [UInt8]) -> [UInt8] {
        let sum = String(Checksum.of(body.span.raw), radix: 16)
        return Array("crc32c \(String(repeating: "0", count: 8 - sum.count))\(sum)\n".utf8)
    }
}
