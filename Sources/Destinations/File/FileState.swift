/// What the file destination keeps with its cursor: which file is being written and how much of
/// it is settled. Everything behind `length` was written after the cursor and is cut off.
struct FileState: Equatable, Sendable {
    /// Longest path that fits into a cursor's state together with a rotated name.
    static let maximumPath = 3500
    private static let version: UInt8 = 1

    var path: String
    /// Bytes.
    var length: Int
    /// The time window of the file's newest event: its receive time divided by `rotateEvery`.
    var window: Int64
    /// The name that the file is being renamed to, in the same directory; nil: it is not.
    var rotatedName: String?

    init(path: String, length: Int, window: Int64, rotatedName: String? = nil) {
        self.path = path
        self.length = length
        self.window = window
        self.rotatedName = rotatedName
    }

    /// version, length and window (8 bytes each, little endian), length of the rotated name (2
    /// bytes), the rotated name, the path.
    var encoded: [UInt8] {
        let name = Array((rotatedName ?? "").utf8)
        var bytes = [Self.version]
        for value in [Int64(length), window] {
            let bits = UInt64(bitPattern: value)
            for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        }
        bytes.append(UInt8(truncatingIfNeeded: name.count))
        bytes.append(UInt8(truncatingIfNeeded: name.count >> 8))
        return bytes + name + Array(path.utf8)
    }

    /// - Throws: if the bytes are none of ours, or of a later version's.
    init(_ bytes: [UInt8]) throws {
        let head = 19
        guard bytes.count > head, bytes[0] == Self.version else { throw Self.unreadable }
        func number(at offset: Int, bytes count: Int) -> UInt64 {
            (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
        }
        guard let length = Int(exactly: Int64(bitPattern: number(at: 1, bytes: 8))), length >= 0 else {
            throw Self.unreadable
        }
        let end = head + Int(number(at: 17, bytes: 2))
        guard end < bytes.count, let name = String(validating: bytes[head..<end], as: UTF8.self),
            let path = String(validating: bytes[end...], as: UTF8.self)
        else { throw Self.unreadable }
        self.init(
            path: path, length: length, window: Int64(bitPattern: number(at: 9, bytes: 8)),
            rotatedName: name.isEmpty ? nil : name)
    }

    private static let unreadable = FileDestinationError(
        "the position kept for this file was not written by this version of Penstock; run the version that wrote it, or give the destination another name to start afresh")
}
