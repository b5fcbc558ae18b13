#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The file that keeps an application's anonymous id from run to run.
struct AnonymousIDFile: Sendable {
    /// The longest id that is read. A larger file was not written by the SDK.
    private static let largestID = 256

    let path: String

    /// The kept id; nil if there is none.
    func read() -> String? {
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.largestID else { return nil }
        let id = String(decoding: data, as: UTF8.self).filter { !$0.isNewline }
        return id.isEmpty ? nil : id
    }

    /// Writes the id, and creates the file's directory if it does not exist.
    func write(_ id: String) throws {
        let directory = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        if !directory.isEmpty {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }
        try Data((id + "\n").utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
