import Glibc

/// Whose a file is, and what its permissions give to users who are neither its owner nor in its group (stat(2)).
package struct FileAccess: Sendable, Equatable {
    package var owner: UInt32
    package var permissions: UInt32
    package var isDirectory: Bool

    package var isReadableByOthers: Bool { permissions & 0o004 != 0 }
    package var isWritableByOthers: Bool { permissions & 0o002 != 0 }
    /// Only a file's owner may rename or remove it in a directory that others may write to.
    package var isSticky: Bool { permissions & 0o1000 != 0 }

    /// nil: there is no such file, or it cannot be looked at.
    package init?(_ path: String) {
        var status = Glibc.stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        owner = status.st_uid
        permissions = status.st_mode & 0o7777
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether others can come to a file at all: each directory above it lets them through. What is not known counts as open.
    package static func isReachableByOthers(_ path: String) -> Bool {
        var directory = path
        while let slash = directory.lastIndex(of: "/"), slash != directory.startIndex {
            directory = String(directory[..<slash])
            if let access = FileAccess(directory), access.permissions & 0o001 == 0 { return false }
        }
        return true
    }
}
