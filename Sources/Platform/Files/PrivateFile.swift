import Glibc

/// A small file that only this process's user may read. Blocks on the disk.
package enum PrivateFile {
    /// - Returns: nil: there is no such file, it belongs to another user, others may read or change it, it is longer
    ///   than `limit` bytes, or it cannot be read.
    package static func read(_ path: String, upTo limit: Int) -> [UInt8]? {
        guard let file = try? FileDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0, let bytes = try? file.read(upTo: limit + 1), bytes.count <= limit
        else { return nil }
        return bytes
    }

    /// Creates the file. A file of this name is replaced; a symbolic link is removed, not followed.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        if unsafe unlink(path) != 0, errno != ENOENT { throw SystemError("unlink", path) }
        let file = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        // A few bytes into a new regular file: a short write means that the disk is full.
        let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file.raw, $0.baseAddress, $0.count) }
        guard written == bytes.count else {
            let error = SystemError("write", path, code: written < 0 ? errno : ENOSPC)
            _ = unsafe unlink(path)
            throw error
        }
    }
}
