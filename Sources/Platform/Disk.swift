/// The filesystem, behind a protocol so that a simulation can hold it, tear it and crash it. Paths
/// are absolute. Every call may block. Any thread.
package protocol Disk: Sendable {
    func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile
    /// The same, past the page cache where the filesystem can do that (O_DIRECT): for bytes that are
    /// written once and that nobody but the caller reads soon. Look at the file's `blockSize`.
    func openDirect(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile
    /// Names in a directory, in no order, without `.` and `..`.
    func list(_ directory: String) throws(SystemError) -> [String]
    /// nil: there is nothing of that name.
    func status(_ path: String) throws(SystemError) -> DiskStatus?
    /// Makes the directory and those above it that are missing.
    func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError)
    /// Atomic; replaces what is there. Durable only after both directories were synced.
    func rename(_ from: String, to: String) throws(SystemError)
    func remove(_ path: String) throws(SystemError)
    /// Removes a directory if nothing is in it; one that holds something stays.
    func removeEmptyDirectory(_ path: String) throws(SystemError)
    /// Makes creations, renames and removals in a directory durable (fsync of the directory).
    func syncDirectory(_ path: String) throws(SystemError)
    /// Bytes that an unprivileged writer could still take on the filesystem of `path`.
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
    /// Must exist.
    case readWrite
    /// Made if it is missing; permissions 0640 less the umask.
    case createOrReadWrite
    /// Must not exist.
    case createNew
}

package struct DiskStatus: Sendable, Equatable {
    package var size: Int
    package var isDirectory: Bool
    /// Nanoseconds since 1970-01-01 UTC.
    package var modifiedAt: Int64
    /// nil: the disk does not tell.
    package var identity: FileIdentity?

    package init(size: Int, isDirectory: Bool, modifiedAt: Int64, identity: FileIdentity? = nil) {
        self.size = size
        self.isDirectory = isDirectory
        self.modifiedAt = modifiedAt
        self.identity = identity
    }
}

/// Which file it is, whatever its name: it stays through a rename, and no two files that exist at the
/// same time share it.
package struct FileIdentity: Sendable, Hashable {
    package var device: UInt64
    package var inode: UInt64
    /// When it was made, nanoseconds since 1970-01-01 UTC: an inode's number is soon used again. 0 where
    /// the filesystem does not keep it.
    package var born: Int64

    package init(device: UInt64, inode: UInt64, born: Int64) {
        self.device = device
        self.inode = inode
        self.born = born
    }
}

/// An open file, closed when the last reference goes. Any thread; offsets are always given.
package protocol DiskFile: AnyObject, Sendable {
    var path: String { get }
    /// What `write` takes: offset, length and place in memory are multiples of it. 1: anything.
    /// `read` takes anything always.
    var blockSize: Int { get }
    func size() throws(SystemError) -> Int
    /// nil: the disk does not tell.
    func identity() throws(SystemError) -> FileIdentity?
    /// Appends up to `count` bytes from `offset` to `bytes`: fewer only at the end of the file.
    /// - Returns: how many.
    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int
    /// The same, but only what the page cache has of it, from the first byte on: brings nothing in that is
    /// not there. For files that are not open for direct input and output.
    /// - Returns: how many; 0: none, or the system cannot say.
    func readCached(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int
    /// All of it, or an error; after one, any part of it may have been written.
    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError)
    /// fdatasync(2). After an error nothing is known about what was written since the last
    /// success, and a later success says nothing about it either: never retry on this file.
    func sync() throws(SystemError)
    func truncate(to size: Int) throws(SystemError)
    /// Makes an empty file `size` bytes of zeros long, with their place on the disk reserved but not
    /// written (posix_fallocate(3)).
    func allocate(_ size: Int) throws(SystemError)
    /// An advisory lock for as long as the file is open (flock(2)).
    /// - Returns: false if somebody else holds it.
    func tryLock() throws(SystemError) -> Bool
}

extension DiskFile {
    package var blockSize: Int { 1 }
    package func identity() throws(SystemError) -> FileIdentity? { nil }
    package func readCached(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int { 0 }
    package func allocate(_ size: Int) throws(SystemError) { try truncate(to: size) }
}
