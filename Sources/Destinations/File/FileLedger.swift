import CZlib
import Platform

/// The write-ahead record of a file destination: each file's length before it was written to. It is stored beside the
/// journal's cursors, which are too small for many files. The cursor's state is a place (`Place`); the records from
/// there on apply. One thread.
///
/// Records are appended to a file `NAME.N`. When it has grown to `limit`, `NAME.(N+1)` replaces it. The file is a
/// sequence of frames. A frame is the length of its contents (4 bytes, little endian), the CRC-32 of number, offset and
/// contents (4 bytes), and the contents: `FileRecord`s. The first incomplete frame ends the file.
final class FileLedger {
    struct Place: Equatable {
        var number: UInt64
        var offset: Int
    }

    /// The size in bytes after which a new file is begun.
    static let limit = 1 << 20
    /// The largest frame in bytes. It holds the records of all open files.
    private static let maximumFrame = 64 << 20
    private static let head = 8

    /// The path without the number.
    let path: String
    private let disk: any Disk
    private var file: (any DiskFile)?
    /// The place of the next frame.
    private(set) var end = Place(number: 0, offset: 0)

    init(path: String, disk: any Disk) {
        self.path = path
        self.disk = disk
    }

    var isLarge: Bool { end.offset >= Self.limit }
    /// The path of the current file.
    var currentPath: String { "\(path).\(end.number)" }

    /// Opens the ledger to continue it.
    /// - Returns: the records from this place on; nil: the place no longer exists.
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
        // The rest is torn. Remove it: a complete frame in it must never be read after the next write.
        if end.offset < size { try file.truncate(to: end.offset) }
        self.file = file
        return records
    }

    /// Begins a file with the next number.
    func begin() throws {
        let directory = directory(of: path)
        try disk.makeDirectory(directory, permissions: 0o750)
        // Ignore larger numbers: they are not ours, because no ledger begins so many files.
        let last = try numbers().filter { $0 < 1 << 62 }.max() ?? 0
        let next = Place(number: last + 1, offset: 0)
        let made = try disk.open("\(path).\(next.number)", .createNew)
        try disk.syncDirectory(directory)
        try disk.syncDirectory(Destinations.directory(of: directory))
        // Set last: an earlier failure leaves the current ledger unchanged.
        end = next
        file = made
    }

    /// - Returns: the place at which the records begin.
    func append(_ records: [FileRecord]) throws -> Place {
        guard let file else { throw FileDestinationError("\(currentPath) is not open") }
        var contents: [UInt8] = []
        for record in records { record.encode(into: &contents) }
        guard contents.count <= Self.maximumFrame else {
            throw FileDestinationError(
                "the record of all open files takes \(contents.count) bytes,"
                    + " but at most \(Self.maximumFrame) are possible; lower open_files")
        }
        var frame: [UInt8] = []
        frame.append(little: UInt32(contents.count))
        frame.append(little: Self.checksum(contents[...], at: end))
        try file.write((frame + contents).span, at: end.offset)
        let begin = end
        end.offset += Self.head + contents.count
        return begin
    }

    /// After a failure the ledger's contents are unknown, and a new file must be begun.
    func sync() throws { try file?.sync() }

    /// For a sync in the background.
    var openFile: (any DiskFile)? { file }

    func close() { file = nil }

    /// Removes the files that no cursor needs any more.
    func removeOthers() throws {
        for number in try numbers() where number != end.number { try disk.remove("\(path).\(number)") }
    }

    private func numbers() throws -> [UInt64] {
        let directory = directory(of: path)
        let prefix = path.dropFirst(directory.count + 1) + "."
        return try disk.list(directory).filter { $0.hasPrefix(prefix) }.compactMap {
            UInt64($0.dropFirst(prefix.count))
        }
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
    /// The format in a cursor's state: 2, then number and offset (8 bytes each, little endian).
    private static let version: UInt8 = 2

    var encoded: [UInt8] {
        var bytes = [Self.version]
        bytes.append(little: number)
        bytes.append(little: UInt64(offset))
        return bytes
    }

    /// - Throws: if the bytes are invalid, or from a later version.
    init(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        guard rest.popFirst() == Self.version, let number = rest.popLittle(UInt64.self),
            let offset = rest.popLittle(UInt64.self).flatMap({ Int(exactly: $0) }), rest.isEmpty
        else {
            throw FileDestinationError(
                "this version of Penstock cannot read the destination's stored position; run the version that wrote it,"
                    + " or rename the destination to start afresh")
        }
        self.init(number: number, offset: offset)
    }
}

/// The directory that contains a path.
func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
}
