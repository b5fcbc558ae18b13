import Platform

/// A retry of dead letters that is under way, kept beside them in a file `retry` so that it goes on after a restart: a
/// title, the caller's bytes, and a checksum over both. Format.md has the layout.
enum RetryNote {
    static let name = "retry"
    private static let title = Array("penstock-retry 1\n".utf8)
    private static let limit = 64 << 20
    /// `crc32c `, eight digits, and a line feed.
    private static let endSize = 16

    /// - Returns: nil if there is none, or none that is whole: what it was to do is asked for again.
    static func read(in directory: String, _ site: JournalSite) throws(SystemError) -> [UInt8]? {
        guard let bytes = try JournalSite.contents(directory + "/" + name, limit: limit, site.disk),
            bytes.count >= title.count + endSize, bytes.starts(with: title)
        else { return nil }
        let body = Array(bytes.dropLast(endSize))
        return bytes.suffix(endSize).elementsEqual(end(of: body)) ? Array(body.dropFirst(title.count).dropLast()) : nil
    }

    static func write(_ note: [UInt8]?, in directory: String, _ site: JournalSite) throws(SystemError) {
        let path = directory + "/" + name
        guard let note else {
            if try site.disk.status(path) != nil { try site.disk.remove(path) }
            return try site.disk.syncDirectory(directory)
        }
        let body = title + note + [10]
        let file = try site.disk.open(path + ".new", .createOrReadWrite)
        try file.truncate(to: 0)
        try file.write((body + end(of: body)).span, at: 0)
        try file.sync()
        try site.disk.rename(path + ".new", to: path)
        try site.disk.syncDirectory(directory)
    }

    private static func end(of body: [UInt8]) -> [UInt8] {
        let sum = String(Checksum.of(body.span.raw), radix: 16)
        return Array("crc32c \(String(repeating: "0", count: 8 - sum.count))\(sum)\n".utf8)
    }
}
