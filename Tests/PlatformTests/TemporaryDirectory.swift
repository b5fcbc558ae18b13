import Foundation
import Glibc

/// A directory for one test. It is removed with its contents.
final class TemporaryDirectory {
    let path: String

    init() throws {
        // The path is short because a socket's path has at most 107 bytes.
        path = FileManager.default.temporaryDirectory.appendingPathComponent("ps-" + UUID().uuidString.prefix(8)).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }
}

/// The permission bits of a file. nil: there is no file.
func permissions(_ path: String) -> UInt32? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}
