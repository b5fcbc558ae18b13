/// The filesystem, behind a protocol so that a simulation can delay, tear and crash it. Paths are absolute. Every call
/// may block. Any thread.
package protocol Disk: Sendable {
    func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile
    /// Opens a file that bypasses the page cache where the filesystem supports it (O_DIRECT). Use it for bytes that are
    /// written once and that only the caller reads soon. Respect the file's `blockSize`.
    func openDirect(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile
    /// The names in a directory, in no particular order, without `.` and `..`.
    func list(_ directory: String) throws(SystemError) -> [String]
    /// nil: the path does not exist.
    func status(_ path: String) throws(SystemError) -> DiskStatus?
    /// When the file was last changed, in nanoseconds since 1970-01-01 UTC; nil: the path does not exist, or the disk
    /// does not record it. Asking for it can make the next writes more expensive, so not before each of them.
    func modificationTime(_ path: String) throws(SystemError) -> Int64?
    /// Creates the directory and any missing parents.
    func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError)
    /// Atomic; replaces an existing file. Durable only after both directories have been synced.
    func rename(_ from: String, to: String) throws(SystemError)
    func remove(_ path: String) throws(SystemError)
    /// Removes a directory if it is empty; otherwise does nothing.
    func removeEmptyDirectory(_ path: String) throws(SystemError)
    /// Makes the creation, renaming and removal of files in a directory durable (fsync of the directory).
    func syncDirectory(_ path: String) throws(SystemError)
    /// Bytes available to unprivileged processes on the filesystem of `path`.
    func freeSpace(_ path: String) throws(SystemError) -> Int
}

extension Disk {
    package func openDirect(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        try open(path, mode)
    }

    package func removeEmptyDirectory(_ path: String) throws(SystemError) {}
}

package enum DiskOpenMode: Sendable {
    case readOnly
    /// The file must exist.
    case readWrite
    /// Creates the file if it is missing, with permissions 0640 less the umask.
    case createOrReadWrite
    /// The file must not exist.
    case createNew
}

package struct DiskStatus: Sendable, Equatable {
    package var size: Int
    package var isDirectory: Bool
    /// nil: the disk does not provide it.
    package var identity: FileIdentity?

    package init(size: Int, isDirectory: Bool, identity: FileIdentity? = nil) {
        self.size = size
        self.isDirectory = isDirectory
        self.identity = identity
    }
}

/// Identifies a file independently of its name. It survives renames, and no two existing files share it.
package struct FileIdentity: Sendable, Hashable {
    package var device: UInt64
    package var inode: UInt64
    /// The creation time in nanoseconds since 1970-01-01 UTC. It distinguishes files that reuse an inode number. 0 if
    /// the filesystem does not record it.
    package var born: Int64

    package init(device: UInt64, inode: UInt64, born: Int64) {
        self.device = device
        self.inode = inode
        self.born = born
    }
}

/// An open file, closed when the last reference is released. Any thread: every call names its offset.
package protocol DiskFile: AnyObject, Sendable {
    var path: String { get }
    /// The alignment that `write` requires of its offset, its length and its memory; 1: none. `read` has no such
    /// requirement.
    var blockSize: Int { get }
    func size() throws(SystemError) -> Int
    /// nil: the disk does not provide it.
    func identity() throws(SystemError) -> FileIdentity?
    /// Appends up to `count` bytes from `offset` to `bytes`; fewer only at the end of the file.
    /// - Returns: how many bytes were appended.
    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int
    /// Like `read`, but appends only the leading part that is in the page cache and loads nothing into it. For files
    /// that are not open for direct input and output.
    /// - Returns: how many bytes were appended; 0 if nothing is cached or the system cannot tell.
    func readCached(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int
    /// Like `read`, for bytes that nobody changes any more and that are read in order: the disk may read the next ones
    /// meanwhile.
    /// - Parameter ahead: the caller keeps it from one read, and one file, to the next; nil: it is made if it helps.
    func readNext(
        _ count: Int, at offset: Int, ahead: inout ReadAhead?, appendingTo bytes: inout [UInt8]
    ) throws(SystemError) -> Int
    /// Writes everything or throws. After an error, any part may have been written.
    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError)
    /// fdatasync(2). After an error, the state of everything written since the last success is unknown, and a later
    /// success does not change that: never retry on this file.
    func sync() throws(SystemError)
    /// Like `sync`, for a file that was only appended to since the last one: writes these bytes in pieces, one after
    /// the other, so that another file's write waits for one piece at most.
    /// - Parameter appended: the offsets of the bytes.
    func sync(inPieces appended: Range<Int>) throws(SystemError)
    func truncate(to size: Int) throws(SystemError)
    /// Extends a file to `size` bytes with zeros. Disk space is reserved but not written (posix_fallocate(3)).
    func allocate(_ size: Int) throws(SystemError)
    /// An extended attribute of the file (xattr(7)); nil: it has none of this name with at most 256 bytes, or the
    /// filesystem keeps none.
    func attribute(_ name: String) -> [UInt8]?
    /// Sets an extended attribute. A replacement of the same length needs no room. It is in the page cache afterwards,
    /// like written bytes, and gets on disk at the latest with bytes that are written later and extend the file.
    /// - Returns: false if the filesystem keeps no such attribute.
    func setAttribute(_ name: String, to value: Span<UInt8>) throws(SystemError) -> Bool
    /// Takes an advisory lock for as long as the file is open (flock(2)).
    /// - Returns: false if another process holds it.
    func tryLock() throws(SystemError) -> Bool
}

extension DiskFile {
    package var blockSize: Int { 1 }
    package func identity() throws(SystemError) -> FileIdentity? { nil }
    package func readCached(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int { 0 }
    package func readNext(
        _ count: Int, at offset: Int, ahead: inout ReadAhead?, appendingTo bytes: inout [UInt8]
    ) throws(SystemError) -> Int {
        try read(count, at: offset, appendingTo: &bytes)
    }
    package func sync(inPieces appended: Range<Int>) throws(SystemError) { try sync() }
    package func allocate(_ size: Int) throws(SystemError) { try truncate(to: size) }
    package func attribute(_ name: String) -> [UInt8]? { nil }
    package func setAttribute(_ name: String, to value: Span<UInt8>) throws(SystemError) -> Bool { false }
}
