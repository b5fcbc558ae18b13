import Platform

/// A file that is open for writing. The ledger holds a length of at most `length` before the first write after that
/// point. One thread.
final class OpenFile {
    let path: String
    let file: any DiskFile
    let identity: FileIdentity?
    /// The number of good bytes. Bytes after them are left from a failed write.
    private(set) var length: Int
    /// The time window of its newest event.
    var window: Int64
    /// When it was last written to or opened.
    var lastUsed: Instant
    /// The file doesn't end with a line feed: another program left an incomplete last line.
    private var lacksLineFeed: Bool
    /// There may be bytes after `length`.
    private(set) var mustCut = false
    /// The offset from which on it was written since the last fdatasync was begun; nil: not at all.
    private(set) var unsyncedFrom: Int?
    /// The position in its attribute (FileTail); 0: not set since it was opened.
    var end: UInt64 = 0
    var keepsAttribute = true

    /// - Parameter readsLines: the file is text, not compressed.
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

    /// Appends to the file. On failure the file keeps its old contents.
    /// - Parameter header: written first if the file is empty.
    func append(_ bytes: Span<UInt8>, header: [UInt8]) throws {
        if mustCut { try cut() }
        markUnsynced()
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

    /// Removes the bytes that a failed write may have left.
    private func cut() throws {
        try file.truncate(to: length)
        mustCut = false
    }

    /// Its bytes or its length may differ from those on the disk.
    func markUnsynced() { unsyncedFrom = unsyncedFrom ?? length }

    /// What a sync that begins now must write; nil: nothing.
    func takeUnsynced() -> Range<Int>? {
        guard let start = unsyncedFrom else { return nil }
        unsyncedFrom = nil
        return start..<length
    }

    /// Calls fdatasync if there are unsynced writes. After a failure the file's contents are unknown.
    func sync() throws {
        if mustCut { try cut() }
        guard let start = unsyncedFrom else { return }
        try file.sync(inPieces: start..<length)
        unsyncedFrom = nil
    }
}
