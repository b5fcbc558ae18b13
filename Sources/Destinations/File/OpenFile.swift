import Platform

/// A file that is written to. Its length in the ledger is never above `length` before the first write
/// behind that. One thread.
final class OpenFile {
    let path: String
    let file: any DiskFile
    let identity: FileIdentity?
    /// Bytes that are whole: what a write left behind that failed comes after them.
    private(set) var length: Int
    /// Of its newest event.
    var window: Int64
    /// When it was last written to or opened.
    var lastUsed: Instant
    /// The file does not end with a line feed: somebody else's last line is not whole.
    private var lacksLineFeed: Bool
    /// Bytes may lie behind `length`.
    private(set) var mustCut = false
    /// Written to since the last fdatasync was begun.
    var isUnsynced = false

    /// - Parameter readsLines: what is in it is text, and not a compressed file's.
    init(
        _ file: any DiskFile, path: String, identity: FileIdentity?, length: Int, window: Int64, readsLines: Bool,
        now: Instant
    ) throws {
        self.file = file
        self.path = path
        self.identity = identity
        self.length = length
        self.window = window
        lastUsed = now
        var last: [UInt8] = []
        if readsLines, length > 0 { _ = try file.read(1, at: length - 1, appendingTo: &last) }
        lacksLineFeed = last.first.map { $0 != UInt8(ascii: "\n") } ?? false
    }

    var record: FileRecord { FileRecord(path: path, length: length, window: window, identity: identity) }

    /// Writes at the end of the file, or leaves it as it was.
    /// - Parameter header: what comes first in a file that is empty.
    func append(_ bytes: Span<UInt8>, header: [UInt8]) throws {
        if mustCut { try cut() }
        isUnsynced = true
        var end = length
        do {
            for lead in [lacksLineFeed ? [UInt8(ascii: "\n")] : [], length == 0 ? header : []] where !lead.isEmpty {
                try file.write(lead.span, at: end)
                end += lead.count
            }
            try file.write(bytes, at: end)
        } catch {
            mustCut = true
            try? cut()
            throw error
        }
        length = end + bytes.count
        lacksLineFeed = false
    }

    /// Takes back what a failed write may have left.
    private func cut() throws {
        try file.truncate(to: length)
        mustCut = false
    }

    /// fdatasync, if there is anything to sync. After a failure nothing is known of the file any more.
    func sync() throws {
        if mustCut { try cut() }
        guard isUnsynced else { return }
        try file.sync()
        isUnsynced = false
    }
}
