import Delivery
import Platform
import Telemetry

/// Whether the journal still has the events of a file's tail: of the bytes after the recorded length, which `open` cuts
/// because their events are delivered again. An older copy of the journal, and one that lost its newest events in a
/// power cut, does not have them all. Such a tail is copied to a file beside it before it is cut.
///
/// The tail itself does not say which events it holds: filters leave events out, mappings may write no id, and replays
/// write events of any position. So the file says it, in an extended attribute: before each write, a position above all
/// events of the file. It belongs to the file, not to the journal's directory, so an older journal does not bring back
/// an older one. The journal has every event below its own end. So the tail may be cut if that position is not above
/// the journal's end. After a crash it never is: destinations read only what the journal has on disk, unless it says
/// `sync: never`.
///
/// A filesystem may keep no attributes, and a file of an earlier version has none. Then the lines of the tail are
/// counted. They may be cut if they are not more than the events from the cursor to the journal's end. That is
/// necessary, but proves nothing where a filter leaves out many events; and where a replay or a transform wrote more
/// lines than that, a copy is made that nobody needs. The lines of compressed bytes are not known, so these are never
/// cut without a copy.
struct FileTail {
    /// The name of the attribute. Its value is the journal's UUID (16 bytes) and the position (u64, little endian).
    static let attribute = "user.penstock.end"
    private static let readSize = 256 << 10

    let journal: [UInt8]
    /// The journal's end.
    let end: UInt64
    /// The number of events that lines of files without the attribute may still belong to.
    private var uncounted: UInt64

    /// - Parameter cursor: the position that the recorded lengths belong to.
    init(_ bound: any PositionBound, cursor: UInt64) {
        journal = bound.journal
        end = bound.end
        uncounted = end > cursor ? end - cursor : 0
    }

    static func value(_ journal: [UInt8], _ end: UInt64) -> [UInt8] {
        var bytes = journal
        bytes.append(little: end)
        return bytes
    }

    /// The position above all events of the file; nil: the file does not say it, or means another journal.
    static func end(of file: any DiskFile, _ journal: [UInt8]) -> UInt64? {
        guard let value = file.attribute(attribute), value.count == journal.count + 8, value.starts(with: journal)
        else { return nil }
        var rest = value[journal.count...]
        return rest.popLittle(UInt64.self)
    }

    /// Whether the journal has all events of the file's bytes from `offset` to `size`.
    /// - Parameters:
    ///   - options: of the destination.
    ///   - header: the bytes at the beginning of each file.
    mutating func isInJournal(
        _ file: any DiskFile, from offset: Int, to size: Int, _ options: FileDestinationOptions, header: [UInt8]
    ) throws -> Bool {
        guard offset < size else { return true }
        if let above = Self.end(of: file, journal) { return above <= end }
        guard options.compression == .none else { return false }
        let start = offset == 0 && !header.isEmpty ? min(header.count, size) : offset
        let rows = try Self.rows(in: file, start..<size, isCSV: options.format != .lines)
        guard rows <= uncounted else { return false }
        uncounted -= rows
        return true
    }

    /// The number of lines, an incomplete one at the end included. In CSV, a line feed within quotes ends no row.
    private static func rows(in file: any DiskFile, _ range: Range<Int>, isCSV: Bool) throws -> UInt64 {
        var rows: UInt64 = 0
        var isQuoted = false
        var last: UInt8?
        var place = range.lowerBound
        while place < range.upperBound {
            var bytes: [UInt8] = []
            guard try file.read(min(readSize, range.upperBound - place), at: place, appendingTo: &bytes) > 0 else {
                break
            }
            for byte in bytes {
                if isCSV, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                if byte == UInt8(ascii: "\n"), !isQuoted { rows += 1 }
            }
            last = bytes.last
            place += bytes.count
        }
        return last == nil || last == UInt8(ascii: "\n") && !isQuoted ? rows : rows + 1
    }
}

extension FileDestination {
    private static let copySize = 1 << 20

    /// Cuts a file to its recorded length. If the journal no longer has the events of what is cut, it is first copied
    /// to a file beside it, durably.
    /// - Returns: whether there was something to cut.
    func cut(_ file: any DiskFile, at path: String, to length: Int) throws -> Bool {
        let size = try file.size()
        guard size > length else { return false }
        if try tail?.isInJournal(file, from: length, to: size, options, header: header) == false {
            let copy = try keep(file, path, length..<size)
            telemetry.emit(FileTailKept(destination: name, path: path, copy: copy, bytes: size - length))
        }
        try file.truncate(to: length)
        return true
    }

    private func keep(_ file: any DiskFile, _ path: String, _ range: Range<Int>) throws -> String {
        let directory = directory(of: path)
        // The name does not end like the path's, so neither `keep` nor a reader of `*.ndjson` takes it for output.
        let base = path + ".cut-" + RotatedName.time(clock.wallClock() / 1_000_000_000)
        for number in 1...9999 {
            let copyPath = "\(base).\(number)"
            guard try disk.status(copyPath) == nil else { continue }
            let copy = try disk.open(copyPath, .createNew)
            do {
                try Self.copy(file, range, to: copy)
                try disk.syncDirectory(directory)
            } catch {
                // Nothing was cut, and the next attempt makes a new copy. On a full disk, this one must not stay.
                try? disk.remove(copyPath)
                throw error
            }
            return copyPath
        }
        throw FileDestinationError("\(base).9999 exists: remove the copies that you do not need")
    }

    private static func copy(_ file: any DiskFile, _ range: Range<Int>, to copy: any DiskFile) throws {
        var place = range.lowerBound
        while place < range.upperBound {
            var bytes: [UInt8] = []
            let count = try file.read(min(copySize, range.upperBound - place), at: place, appendingTo: &bytes)
            guard count > 0 else { break }
            try copy.write(bytes.span, at: place - range.lowerBound)
            place += count
        }
        try copy.sync()
    }

    /// Records with the file, before a write, that it has events below this position (FileTail).
    func raise(_ file: OpenFile, above position: UInt64) throws {
        guard let bound, file.keepsAttribute, file.end <= position else { return }
        let end = max(bound.now, position.saturatingAdd(1))
        let value = FileTail.value(bound.journal, end)
        guard try file.file.setAttribute(FileTail.attribute, to: value.span) else {
            file.keepsAttribute = false
            return
        }
        file.end = end
    }
}
