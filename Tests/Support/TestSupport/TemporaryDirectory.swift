import Foundation

/// A directory for one test. It is removed with this object.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// - Parameter parent: nil: TMPDIR, which other users may not be able to enter.
    package init(in parent: String? = nil) throws {
        path = (parent ?? FileManager.default.temporaryDirectory.path) + "/penstock-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String {
        let file = path + "/" + name
        let directory = URL(fileURLWithPath: file).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}
