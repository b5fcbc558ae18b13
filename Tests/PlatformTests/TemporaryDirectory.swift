import Foundation
import Glibc

/// A directory of a test's own, removed with what is in it.
final class TemporaryDirectory {
    let path: String

    init() throws {
        // Short: a socket's path has at most 107 bytes.
        path = FileManager.default.temporaryDirectory.appendingPathComponent("ps-" + UUID().uuidString.prefix(8)).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }
}

/// Permission bits of a file; nil if there is none.
func permissions(_ path: String) -> UInt32? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}
