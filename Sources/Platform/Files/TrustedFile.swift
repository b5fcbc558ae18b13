import Glibc

/// O_PATH (open(2)), which glibc's Swift module leaves out: it opens a place in the tree without the right to read it.
private let openAsPlace: Int32 = 0o10_000_000

/// A regular file that only root and the caller could have put there or changed. Every directory on the way to it is
/// opened before it is checked, so nobody can swap a part of the path in between.
///
/// Each step belongs to root or to the caller and is writable by nobody else. A sticky directory (/tmp) may be writable
/// by others, because they cannot replace files that are not theirs.
package struct TrustedFile: ~Copyable {
    /// Absolute, without symbolic links.
    package let path: String
    /// Open for reading.
    package let descriptor: FileDescriptor
    package let identity: Identity

    /// Names the file's contents for as long as the file is open somewhere.
    package struct Identity: Hashable, Sendable {
        package var device: UInt64
        package var inode: UInt64
        /// When the file was last changed: its contents, owner, permissions or name. Nanoseconds since 1970.
        package var changed: Int64
    }

    /// Why a file is not trusted or cannot be opened.
    package enum Problem: Error, Sendable {
        /// Somebody else owns this step of the path.
        case ownedByOther(path: String, user: UInt32)
        /// Others may write to this step of the path.
        case writableByOthers(path: String)
        case notARegularFile(path: String)
        case failed(SystemError)
    }

    /// - Parameter path: absolute, without symbolic links (`resolve`).
    package init(at path: String) throws(Problem) {
        do {
            self = try Self.walk(to: path)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw .failed(error as? SystemError ?? SystemError("open", path))
        }
    }

    /// - Returns: the absolute path without symbolic links; nil, with errno set, if there is no such file.
    package static func resolve(_ path: String) -> String? {
        guard let text = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }

    package static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Gives away the open descriptor: the caller closes it.
    package consuming func release() -> Int32 { descriptor.release() }

    private init(path: String, _ descriptor: consuming FileDescriptor, _ identity: Identity) {
        self.path = path
        self.descriptor = descriptor
        self.identity = identity
    }

    private static func walk(to path: String) throws -> TrustedFile {
        let components = path.split(separator: "/").map(String.init)
        guard let name = components.last else { throw Problem.notARegularFile(path: path) }
        var place = try FileDescriptor.open("/", openAsPlace | O_DIRECTORY)
        _ = try check(place, "/")
        var walked = ""
        for component in components.dropLast() {
            walked += "/" + component
            place = try open(component, in: place, openAsPlace | O_DIRECTORY | O_NOFOLLOW, walked)
            _ = try check(place, walked)
        }
        // O_NONBLOCK: opening a named pipe must not wait for its writer.
        let file = try open(name, in: place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, path)
        let status = try check(file, path)
        guard status.st_mode & S_IFMT == S_IFREG else { throw Problem.notARegularFile(path: path) }
        return TrustedFile(path: path, file, Identity(status))
    }

    /// The identity of a file that may not be trusted, links followed; nil: there is none.
    package static func identity(of path: String) -> Identity? {
        var status = Glibc.stat()
        return unsafe fstatat(AT_FDCWD, path, &status, 0) == 0 ? Identity(status) : nil
    }

    private static func check(_ descriptor: borrowing FileDescriptor, _ path: String) throws -> stat {
        var status = Glibc.stat()
        if unsafe fstat(descriptor.raw, &status) != 0 { throw SystemError("fstat", path) }
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            throw Problem.ownedByOther(path: path, user: status.st_uid)
        }
        let isSticky = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 || isSticky else { throw Problem.writableByOthers(path: path) }
        return status
    }

    private static func open(
        _ name: String, in directory: borrowing FileDescriptor, _ flags: Int32, _ path: String
    ) throws(SystemError) -> FileDescriptor {
        while true {
            let number = unsafe openat(directory.raw, name, flags | O_CLOEXEC)
            if number >= 0 { return FileDescriptor(owning: number) }
            if errno != EINTR { throw SystemError("open", path) }
        }
    }
}

extension TrustedFile.Identity {
    fileprivate init(_ status: stat) {
        self.init(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
            changed: Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec))
    }
}
