import Glibc

/// A file's owner, and its permissions for users who are neither the owner nor in the file's group (stat(2)).
package struct FileAccess: Sendable, Equatable {
    package var owner: UInt32
    package var permissions: UInt32
    package var isDirectory: Bool

    package var isReadableByOthers: Bool { permissions & 0o004 != 0 }
    package var isWritableByOthers: Bool { permissions & 0o002 != 0 }
    /// In a sticky directory that others may write to, only a file's owner may rename or remove it.
    package var isSticky: Bool { permissions & 0o1000 != 0 }

    /// nil: the file does not exist or cannot be inspected.
    package init?(_ path: String) {
        var status = Glibc.stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        owner = status.st_uid
        permissions = status.st_mode & 0o7777
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether other users can reach a file: every directory above it must let them pass. A directory that cannot be
    /// inspected counts as open.
    package static func isReachableByOthers(_ path: String) -> Bool {
        var directory = path
        while let slash = directory.lastIndex(of: "/"), slash != directory.startIndex {
            directory = String(directory[..<slash])
            if let access = FileAccess(directory), access.permissions & 0o001 == 0 { return false }
        }
        return true
    }
}
