import CZlib
import Platform

/// The write-ahead record of a file destination: how long each file was before it was written to. Beside
/// the journal's cursors, which are too small for many files; the cursor's state is the place (`Place`)
/// from which on it counts. One thread.
///
/// A file `NAME.N` is appended to, and given up for `NAME.(N+1)` when it has grown to `limit`. It is a row
/// of frames: length of the contents (4 bytes, little endian), CRC-32 of number, offset and contents (4
/// bytes), contents: `FileRecord`s. The first frame that is not whole ends it.
final class FileLedger {
    struct Place: Equatable {
        var number: UInt64
        var offset: Int
    }

    /// Bytes after which another file is begun.
    static let limit = 1 << 20
    /// Bytes of one frame: of the records of as many files as can be open.
    private static let maximumFrame = 64 << 20
    private static let head = 8

    /// Without the number.
    let path: String
    private let disk: any Disk
    private var file: (any DiskFile)?
    /// Where the next frame goes.
    private(set) var end = Place(number: 0, offset: 0)

    init(path: String, disk: any Disk) {
        self.path = path
        self.disk = disk
    }

    var isLarge: Bool { end.offset >= Self.limit }
    /// The file that it lies in.
    var currentPath: String { "\(path).\(end.number)" }

    /// Opens it to go on.
    /// - Returns: what was recorded from this place on; nil: there is no such place any more.
    func resume(at place: Place) throws -> [FileRecord]? {
        close()
        end = Place(number: place.number, offset: 0)
        guard try disk.status(currentPath) != nil else { return nil }
        let file = try disk.open(currentPath, .readWrite)
        let size = try file.size()
        guard place.offset <= size else { return nil }
        var bytes: [UInt8] = []
        _ = try file.read(size - place.offset, at: place.offset, appendingTo: &bytes)
        var records: [FileRecord] = []
        end.offset = place.offset
        while let (frame, count) = Self.frame(bytes[(end.offset - place.offset)...], at: end) {
            records += frame
            end.offset += count
        }
        // What follows is torn; whole frames among it must never be read behind what is written now.
        if end.offset < size { try file.truncate(to: end.offset) }
        self.file = file
        return records
    }

    /// Begins a file of the next number.
    func begin() throws {
        let directory = directory(of: path)
        try disk.makeDirectory(directory, permissions: 0o750)
        // A larger number is none of ours: nobody has begun so many files.
        let last = try numbers().filter { $0 < 1 << 62 }.max() ?? 0
        let next = Place(number: last + 1, offset: 0)
        let made = try disk.open("\(path).\(next.number)", .createNew)
        try disk.syncDirectory(directory)
        try disk.syncDirectory(Destinations.directory(of: directory))
        // Only now: what fails before leaves the one there is as it was.
        end = next
        file = made
    }

    /// - Returns: where they begin.
    func append(_ records: [FileRecord]) throws -> Place {
        guard let file else { throw FileDestinationError("\(currentPath) is not open") }
        var contents: [UInt8] = []
        for record in records { record.encode(into: &contents) }
        guard contents.count <= Self.maximumFrame else {
            throw FileDestinationError("the files that are open take \(contents.count) bytes to record; lower open_files")
        }
        var frame: [UInt8] = []
        frame.append(little: UInt32(contents.count))
        frame.append(little: Self.checksum(contents[...], at: end))
        try file.write((frame + contents).span, at: end.offset)
        let begin = end
        end.offset += Self.head + contents.count
        return begin
    }

    /// After a failure nothing is known of it: it has to be begun anew.
    func sync() throws { try file?.sync() }

    /// For a sync in the background.
    var openFile: (any DiskFile)? { file }

    func close() { file = nil }

    /// Removes those that no cursor needs any more.
    func removeOthers() throws {
        for number in try numbers() where number != end.number { try disk.remove("\(path).\(number)") }
    }

    private func numbers() throws -> [UInt64] {
        let directory = directory(of: path)
        let prefix = path.dropFirst(directory.count + 1) + "."
        return try disk.list(directory).filter { $0.hasPrefix(prefix) }.compactMap { UInt64($0.dropFirst(prefix.count)) }
    }

    private static func frame(_ bytes: ArraySlice<UInt8>, at place: Place) -> (records: [FileRecord], count: Int)? {
        var rest = bytes
        guard let count = rest.popLittle(UInt32.self), let sum = rest.popLittle(UInt32.self), rest.count >= Int(count),
            checksum(rest.prefix(Int(count)), at: place) == sum
        else { return nil }
        var contents = rest.prefix(Int(count))
        var records: [FileRecord] = []
        while !contents.isEmpty {
            guard let record = FileRecord(&contents) else { return nil }
            records.append(record)
        }
        return (records, head + Int(count))
    }

    private static func checksum(_ contents: ArraySlice<UInt8>, at place: Place) -> UInt32 {
        var bytes: [UInt8] = []
        bytes.append(little: place.number)
        bytes.append(little: UInt64(place.offset))
        bytes += contents
        return UInt32(truncatingIfNeeded: unsafe crc32(0, bytes, UInt32(clamping: bytes.count)))
    }
}

extension FileLedger.Place {
    /// In a cursor's state: 2, then number and offset (8 bytes each, little endian).
    private static let version: UInt8 = 2

    var encoded: [UInt8] {
        var bytes = [Self.version]
        bytes.append(little: number)
        bytes.append(little: UInt64(offset))
        return bytes
    }

    /// - Throws: if the bytes are none of ours, or of a later version's.
    init(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        guard rest.popFirst() == Self.version, let number = rest.popLittle(UInt64.self),
            let offset = rest.popLittle(UInt64.self).flatMap({ Int(exactly: $0) }), rest.isEmpty
        else {
            throw FileDestinationError(
                "the position kept for this destination was not written by this version of Penstock; run the version that wrote it, or give the destination another name to start afresh")
        }
        self.init(number: number, offset: offset)
    }
}

/// The directory that a path lies in.
func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
}
