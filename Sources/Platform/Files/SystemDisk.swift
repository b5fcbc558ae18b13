import CLinux
import Glibc
import Synchronization

/// The real filesystem.
package struct SystemDisk: Disk {
    package init() {}

    package func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        SystemFile(path: path, try FileDescriptor.open(path, mode.flags), .cached)
    }

    package func openDirect(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        do {
            return SystemFile(
                path: path, try FileDescriptor.open(path, mode.flags | clinux_o_direct()), .direct)
        } catch  where error.code == EINVAL {
            // The filesystem does not support direct input and output.
            return try open(path, mode)
        }
    }

    package func list(_ directory: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(directory) else { throw SystemError("opendir", directory) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                if errno != 0 { throw SystemError("readdir", directory) }
                return names
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
                    unsafe String(cString: $0)
                }
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    package func status(_ path: String) throws(SystemError) -> DiskStatus? {
        var status = clinux_status()
        guard unsafe clinux_status(-1, path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemError("statx", path)
        }
        return DiskStatus(
            size: Int(status.size), isDirectory: status.is_directory != 0, identity: FileIdentity(status))
    }

    package func modificationTime(_ path: String) throws(SystemError) -> Int64? {
        var time: Int64 = 0
        guard unsafe clinux_modified(path, &time) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemError("statx", path)
        }
        return time
    }

    /// Whether this process may create files in a directory (access(2)).
    package func mayWrite(in directory: String) -> Bool { unsafe access(directory, W_OK | X_OK) == 0 }

    /// Whether a directory is on a filesystem that is read-only for this process, because of its mount or a service's
    /// sandbox. access(2) reports that only if the directory's own permissions allow writing.
    package func isReadOnly(_ directory: String) -> Bool {
        var status = statvfs()
        return unsafe statvfs(directory, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }

    /// Whether this process may read a file (access(2)).
    package func mayRead(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

    /// The absolute path without symbolic links, `.` and `..`; nil if it does not exist (realpath(3)).
    package func realPath(_ path: String) -> String? {
        guard let text = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }

    /// sd_booted(3).
    package var isSystemdRunning: Bool { (try? status("/run/systemd/system"))??.isDirectory == true }

    package func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError) {
        if unsafe mkdir(path, permissions) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw SystemError("mkdir", path)
        }
        try makeDirectory(String(path[..<slash]), permissions: permissions)
        if unsafe mkdir(path, permissions) != 0 && errno != EEXIST { throw SystemError("mkdir", path) }
    }

    package func rename(_ from: String, to: String) throws(SystemError) {
        if unsafe Glibc.rename(from, to) != 0 { throw SystemError("rename", from) }
    }

    package func remove(_ path: String) throws(SystemError) {
        if unsafe unlink(path) != 0 { throw SystemError("unlink", path) }
    }

    package func removeEmptyDirectory(_ path: String) throws(SystemError) {
        if unsafe rmdir(path) != 0, errno != ENOTEMPTY, errno != EEXIST { throw SystemError("rmdir", path) }
    }

    package func syncDirectory(_ path: String) throws(SystemError) {
        let directory = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        if fsync(directory.raw) != 0 { throw SystemError("fsync", path) }
    }

    package func freeSpace(_ path: String) throws(SystemError) -> Int {
        var status = statvfs()
        if unsafe statvfs(path, &status) != 0 { throw SystemError("statvfs", path) }
        return Int(clamping: UInt64(status.f_bavail).saturatingMultiply(UInt64(status.f_frsize)))
    }
}

extension FileIdentity {
    fileprivate init(_ status: clinux_status) {
        self.init(device: status.device, inode: status.inode, born: status.born)
    }
}

extension DiskOpenMode {
    fileprivate var flags: Int32 {
        switch self {
        case .readOnly: O_RDONLY
        case .readWrite: O_RDWR
        case .createOrReadWrite: O_RDWR | O_CREAT
        case .createNew: O_RDWR | O_CREAT | O_EXCL
        }
    }
}

private final class SystemFile: DiskFile {
    enum Access {
        case cached
        case direct
    }

    /// The most bytes that one direct read takes. Its memory is allocated as it is touched.
    private static let directRead = 4 << 20
    /// The bytes and the number of pieces that `sync(inPieces:)` writes.
    private static let smallestPiece = 128 << 10
    private static let mostPieces = 128

    let path: String
    private let descriptor: FileDescriptor
    private let access: Access
    /// The aligned buffer for direct reads, created by the first one.
    private let landing = Mutex<AlignedMemory?>(nil)

    init(path: String, _ descriptor: consuming FileDescriptor, _ access: Access) {
        self.path = path
        self.descriptor = descriptor
        self.access = access
    }

    var blockSize: Int { access == .direct ? AlignedMemory.alignment : 1 }

    func size() throws(SystemError) -> Int {
        Int(try status().size)
    }

    func identity() throws(SystemError) -> FileIdentity? { FileIdentity(try status()) }

    private func status() throws(SystemError) -> clinux_status {
        var status = clinux_status()
        if unsafe clinux_status(descriptor.raw, nil, &status) != 0 { throw SystemError("statx", path) }
        return status
    }

    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
        if access == .direct { return try readDirectly(count, at: offset, appendingTo: &bytes) }
        var done = 0
        var failure: Int32 = 0
        bytes.append(addingCapacity: count) { span in
            unsafe span.withUnsafeMutableBufferPointer { buffer, initialized in
                while done < count {
                    let got = unsafe pread(
                        descriptor.raw, buffer.baseAddress.map { unsafe $0 + initialized }, count - done, offset + done)
                    if got < 0 && errno == EINTR { continue }
                    if got < 0 { failure = errno }
                    if got <= 0 { break }
                    done += got
                    initialized += got
                }
            }
        }
        if failure != 0 { throw SystemError("pread", path, code: failure) }
        return done
    }

    func readCached(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int {
        guard access == .cached, count > 0 else { return 0 }
        // Check the page cache first: even a read with RWF_NOWAIT starts the kernel's read-ahead.
        let there = min(clinux_cached(descriptor.raw, offset, count), count)
        guard there > 0 else { return 0 }
        // Ignore an error here: the following read from the disk reports it.
        return (try? read(there, at: offset, appendingTo: &bytes)) ?? 0
    }

    /// Falls back to the page cache. Some filesystems open a file for direct input and output and then reject the
    /// transfer.
    /// - Returns: whether the file was open for direct input and output until now.
    private func giveUpDirect() -> Bool {
        let flags = fcntl(descriptor.raw, F_GETFL)
        guard flags >= 0, flags & clinux_o_direct() != 0 else { return false }
        return fcntl(descriptor.raw, F_SETFL, flags & ~clinux_o_direct()) == 0
    }

    /// Reads the blocks that contain the range and copies the range out of them.
    private func readDirectly(
        _ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]
    ) throws(SystemError) -> Int {
        try landing.withLock { landing throws(SystemError) -> Int in
            let memory = landing ?? AlignedMemory(count: Self.directRead)
            landing = memory
            var done = 0
            while done < count {
                let place = offset + done
                let start = place & ~(AlignedMemory.alignment - 1)
                let wanted = min(
                    memory.count,
                    (offset + count - start + AlignedMemory.alignment - 1) & ~(AlignedMemory.alignment - 1))
                let got = unsafe memory.withPointer { unsafe pread(descriptor.raw, $0, wanted, start) }
                if got < 0 && (errno == EINTR || errno == EINVAL && giveUpDirect()) { continue }
                if got < 0 { throw SystemError("pread", path) }
                let usable = min(got - (place - start), count - done)
                guard usable > 0 else { break }
                memory.append(place - start..<place - start + usable, to: &bytes)
                done += usable
                // A short read ends at the end of the file.
                if got < wanted { break }
            }
            return done
        }
    }

    func readNext(
        _ count: Int, at offset: Int, ahead: inout ReadAhead?, appendingTo bytes: inout [UInt8]
    ) throws(SystemError) -> Int {
        var done = 0
        if access == .direct, fcntl(descriptor.raw, F_GETFL) & clinux_o_direct() != 0 {
            ahead = ahead ?? ReadAhead()
            done = ahead?.read(count, at: offset, of: descriptor.raw, ObjectIdentifier(self), appendingTo: &bytes) ?? 0
        }
        // The end of the file, an error, or no reading ahead: an ordinary read tells which.
        return done == count ? done : done + (try read(count - done, at: offset + done, appendingTo: &bytes))
    }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
        let failure: Int32 = unsafe bytes.withUnsafeBufferPointer { buffer in
            var done = 0
            while done < buffer.count {
                let put = unsafe pwrite(
                    descriptor.raw, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done, offset + done)
                if put < 0 && (errno == EINTR || errno == EINVAL && giveUpDirect()) { continue }
                if put <= 0 { return put < 0 ? errno : ENOSPC }
                done += put
            }
            return 0
        }
        if failure != 0 { throw SystemError("pwrite", path, code: failure) }
    }

    func sync() throws(SystemError) {
        // An fdatasync that was interrupted has not reported on the pages yet. Calling it again is not the forbidden
        // retry after a failure.
        while fdatasync(descriptor.raw) != 0 {
            if errno != EINTR { throw SystemError("fdatasync", path) }
        }
    }

    func sync(inPieces appended: Range<Int>) throws(SystemError) {
        guard appended.count > Self.smallestPiece else { return try sync() }
        // A disk that gets much has no latency to lose.
        let piece = max(Self.smallestPiece, appended.count / Self.mostPieces)
        for place in stride(from: appended.lowerBound, to: appended.upperBound, by: piece) {
            let count = min(piece, appended.upperBound - place)
            // The descriptor's error is reported once only, and this call may have taken it from the sync below.
            switch clinux_write_out(descriptor.raw, place, count) {
            case 0: break
            case 1: return try sync()
            default: throw SystemError("sync_file_range", path)
            }
        }
        try sync()
    }

    func truncate(to size: Int) throws(SystemError) {
        while ftruncate(descriptor.raw, size) != 0 {
            if errno != EINTR { throw SystemError("ftruncate", path) }
        }
    }

    func allocate(_ size: Int) throws(SystemError) {
        var code: Int32
        repeat { code = posix_fallocate(descriptor.raw, 0, size) } while code == EINTR
        if code != 0 { throw SystemError("posix_fallocate", path, code: code) }
    }

    func attribute(_ name: String) -> [UInt8]? {
        var value = [UInt8](repeating: 0, count: 256)
        let length = unsafe value.withUnsafeMutableBufferPointer {
            unsafe clinux_attribute(descriptor.raw, name, $0.baseAddress, $0.count)
        }
        return length < 0 ? nil : Array(value.prefix(length))
    }

    func setAttribute(_ name: String, to value: Span<UInt8>) throws(SystemError) -> Bool {
        let result = unsafe value.withUnsafeBufferPointer {
            unsafe clinux_set_attribute(descriptor.raw, name, $0.baseAddress, $0.count)
        }
        if result < 0 { throw SystemError("fsetxattr", path) }
        return result == 0
    }

    func tryLock() throws(SystemError) -> Bool {
        while flock(descriptor.raw, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw SystemError("flock", path) }
        }
        return true
    }
}
