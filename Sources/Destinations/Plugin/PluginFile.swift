import Glibc
import Platform

/// O_PATH (open(2)), which glibc's view from Swift leaves out: a place in the tree, which needs no
/// right to read the directory.
private let openAsPlace: Int32 = 0o10_000_000

/// A plugin's file, found, checked and open. What was checked is what is loaded: every step of
/// the way is opened before it is looked at, and the loader gets the descriptor, not the path.
package struct PluginFile: ~Copyable {
    /// Absolute, without symbolic links.
    package let path: String
    let descriptor: FileDescriptor
    /// Names the file's contents for as long as it is open somewhere.
    let identity: Identity

    struct Identity: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64
    }

    /// Finds NAME.so or libNAME.so, in the order of the directories.
    package init(named name: String, in directories: [String]) throws(PluginError) {
        let allowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard allowed, !name.isEmpty, !name.hasPrefix(".") else {
            throw PluginError(
                .notFound,
                """
                "\(name)" is not the name of a plugin: give the file's name without .so, in letters, \
                digits, '_', '-' and '.'; its directory belongs under plugins.directories
                """
            )
        }
        for directory in directories {
            for candidate in ["\(directory)/\(name).so", "\(directory)/lib\(name).so"] where Self.exists(candidate) {
                try self.init(at: candidate, below: directory)
                return
            }
        }
        throw PluginError(
            .notFound,
            """
            there is no plugin "\(name)": looked for \(name).so and lib\(name).so in \
            \(directories.isEmpty ? "no directory at all" : directories.joined(separator: ", ")); \
            install it there, or add its directory to plugins.directories
            """
        )
    }

    /// The names that files in these directories can be found by.
    package static func names(in directories: [String]) -> [String] {
        let files = directories.flatMap { (try? SystemDisk().list($0)) ?? [] }
        let names = files.filter { $0.hasSuffix(".so") }.map { String($0.dropLast(3)) }
        return names.map { $0.hasPrefix("lib") ? String($0.dropFirst(3)) : $0 }.sorted()
    }

    /// Opens one file, wherever it is; with `directory`, only if it really lies below that.
    package init(at path: String, below directory: String? = nil) throws(PluginError) {
        guard let resolved = Self.resolve(path) else {
            throw PluginError(.notFound, "\(SystemError("open", path)): give the path of a plugin's file")
        }
        if let directory {
            let parent = Self.resolve(directory) ?? directory
            guard resolved.hasPrefix(parent.hasSuffix("/") ? parent : parent + "/") else {
                throw PluginError(
                    .notTrusted,
                    """
                    \(path) leads to \(resolved), outside of \(parent): put the file itself there, or \
                    add its directory to plugins.directories
                    """
                )
            }
        }
        do {
            self = try Self.walk(to: resolved)
        } catch let error as PluginError {
            throw error
        } catch {
            throw PluginError(.notFound, "the plugin's file cannot be opened: \(error)")
        }
    }

    private init(path: String, _ descriptor: consuming FileDescriptor, _ identity: Identity) {
        self.path = path
        self.descriptor = descriptor
        self.identity = identity
    }

    /// Opens and checks every directory from the root on, then the file.
    private static func walk(to path: String) throws -> PluginFile {
        let components = path.split(separator: "/").map(String.init)
        guard let name = components.last else { throw PluginError(.notFound, "\(path) is a directory, not a plugin") }
        var place = try FileDescriptor.open("/", openAsPlace | O_DIRECTORY)
        _ = try check(place, "/")
        var walked = ""
        for component in components.dropLast() {
            walked += "/" + component
            place = try open(component, in: place, openAsPlace | O_DIRECTORY | O_NOFOLLOW, walked)
            _ = try check(place, walked)
        }
        // O_NONBLOCK: a named pipe must not hold us up before we have seen that it is one.
        let file = try open(name, in: place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, path)
        let status = try check(file, path)
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw PluginError(.notLoadable, "\(path) is not a regular file: give the path of a plugin's .so")
        }
        return PluginFile(path: path, file, Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)))
    }

    /// Owned by root or by us, and writable by nobody else; a sticky directory (/tmp) may be
    /// written by others, since they cannot replace what is not theirs.
    private static func check(_ descriptor: borrowing FileDescriptor, _ path: String) throws -> stat {
        var status = Glibc.stat()
        if unsafe fstat(descriptor.raw, &status) != 0 { throw SystemError("fstat", path) }
        let us = geteuid()
        guard status.st_uid == 0 || status.st_uid == us else {
            throw PluginError(
                .notTrusted,
                "\(path) belongs to user \(status.st_uid), who could change what we load: chown root \(path)")
        }
        let sticky = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 || sticky else {
            throw PluginError(
                .notTrusted, "\(path) can be written by others, who could change what we load: chmod go-w \(path)")
        }
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

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Absolute, without symbolic links; nil with errno if there is no such file.
    private static func resolve(_ path: String) -> String? {
        guard let text = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }
}
