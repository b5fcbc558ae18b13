import Platform

/// The length of a file before a write extended it.
struct FileRecord: Equatable, Sendable {
    /// The longest path of a file, in bytes.
    static let maximumPath = 3500

    var path: String
    /// Bytes.
    var length: Int
    /// The time window of its newest event: the receive time divided by `rotateEvery`.
    var window: Int64
    /// nil: the disk doesn't report it.
    var identity: FileIdentity?
    /// The name that it is being renamed to, in the same directory; nil: it is not being renamed.
    var rotatedName: String?

    /// Little endian: length and window (8 bytes each); 1 if an identity follows, else 0; the identity's three numbers
    /// (8 bytes each); the lengths of the rotated name and of the path (2 bytes each); these two texts.
    func encode(into bytes: inout [UInt8]) {
        let name = Array((rotatedName ?? "").utf8)
        bytes.append(little: UInt64(bitPattern: Int64(length)))
        bytes.append(little: UInt64(bitPattern: window))
        bytes.append(identity == nil ? 0 : 1)
        bytes.append(little: identity?.device ?? 0)
        bytes.append(little: identity?.inode ?? 0)
        bytes.append(little: UInt64(bitPattern: identity?.born ?? 0))
        bytes.append(little: UInt16(clamping: name.count))
        bytes.append(little: UInt16(clamping: path.utf8.count))
        bytes += name
        bytes += path.utf8
    }

    /// nil: the bytes are not a valid record.
    init?(_ bytes: inout ArraySlice<UInt8>) {
        guard let length = bytes.popLittle(UInt64.self).flatMap({ Int(exactly: Int64(bitPattern: $0)) }), length >= 0,
            let window = bytes.popLittle(UInt64.self), let known = bytes.popFirst(),
            let device = bytes.popLittle(UInt64.self), let inode = bytes.popLittle(UInt64.self),
            let born = bytes.popLittle(UInt64.self), let nameCount = bytes.popLittle(UInt16.self),
            let pathCount = bytes.popLittle(UInt16.self), bytes.count >= Int(nameCount) + Int(pathCount),
            let name = String(validating: bytes.prefix(Int(nameCount)), as: UTF8.self),
            let path = String(validating: bytes.dropFirst(Int(nameCount)).prefix(Int(pathCount)), as: UTF8.self)
        else { return nil }
        bytes = bytes.dropFirst(Int(nameCount) + Int(pathCount))
        self.path = path
        self.length = length
        self.window = Int64(bitPattern: window)
        identity = known == 1 ? FileIdentity(device: device, inode: inode, born: Int64(bitPattern: born)) : nil
        rotatedName = name.isEmpty ? nil : name
    }

    init(path: String, length: Int, window: Int64, identity: FileIdentity?, rotatedName: String? = nil) {
        self.path = path
        self.length = length
        self.window = window
        self.identity = identity
        self.rotatedName = rotatedName
    }
}

extension [UInt8] {
    mutating func append(little number: some FixedWidthInteger & UnsignedInteger) {
        var rest = number
        for _ in 0..<number.bitWidth / 8 {
            append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}

extension ArraySlice<UInt8> {
    /// Takes a number from the front; nil, taking nothing, if there are too few bytes.
    mutating func popLittle<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type) -> Number? {
        let count = Number.bitWidth / 8
        guard self.count >= count else { return nil }
        let number = prefix(count).reversed().reduce(Number(0)) { $0 << 8 | Number($1) }
        self = dropFirst(count)
        return number
    }
}
