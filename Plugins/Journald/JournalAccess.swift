import Glibc
import PenstockPluginKit

/// Whether the files of a journal may be read. libsystemd leaves out files that may not.
enum JournalAccess {
    private static let places = ["/var/log/journal", "/run/log/journal"]

    /// - Returns: the files that may not be read; none: everything can be read.
    /// - Throws: there is nothing to read.
    static func check(directory: String?) throws(SourceError) -> [String] {
        let roots = directory.map { [$0] } ?? places
        let found = roots.filter { unsafe access($0, F_OK) == 0 }
        guard !found.isEmpty else {
            throw SourceError(
                directory.map { "settings.directory: \($0) does not exist" }
                    ?? "this machine has no journal: neither \(places.joined(separator: " nor ")) exists")
        }
        var (readable, refused): ([String], [String]) = ([], [])
        for path in found.flatMap({ files(in: $0, depth: 1) }) {
            // A directory in the list cannot be read.
            if unsafe access(path, R_OK) == 0 { readable.append(path) } else { refused.append(path) }
        }
        if readable.isEmpty, let first = refused.first {
            throw SourceError(
                "\(first): permission denied; the journal's files belong to the group systemd-journal: add"
                    + " SupplementaryGroups=systemd-journal to the service (systemctl edit penstock)")
        }
        return refused
    }

    /// The journal's files in a directory, and in those below it: each machine has one.
    private static func files(in path: String, depth: Int) -> [String] {
        guard let directory = unsafe opendir(path) else { return errno == EACCES ? [path] : [] }
        defer { unsafe closedir(directory) }
        var files: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".journal") || name.hasSuffix(".journal~") {
                files.append("\(path)/\(name)")
            } else if depth > 0, !name.hasPrefix(".") {
                files += self.files(in: "\(path)/\(name)", depth: depth - 1)
            }
        }
        return files
    }
}
