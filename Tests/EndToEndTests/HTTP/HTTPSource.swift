import Control
import Foundation
import Testing

/// A daemon whose source takes HTTP over TCP, beside its Unix socket.
extension TestDaemon {
    static let writeKey = "0123456789abcdef"

    /// All events are written to archive.ndjson.
    static let toArchive = """
        secrets: { directory: DIRECTORY/secrets }
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }

        """

    /// - Parameters:
    ///   - address: port 0: a free one.
    ///   - more: other keys of the source.
    static func httpSource(_ address: String = "127.0.0.1:0", _ more: String = "") -> String {
        "{ apps: { socket: events.sock, http: \"\(address)\", write_keys: [!secret write_key], \(more) } }"
    }

    convenience init(httpSource source: String, journal: String = plainJournal) throws {
        try self.init(configuration: Self.toArchive, sources: source, journal: journal)
        try write(secret: "write_key", Self.writeKey)
    }

    func write(secret name: String, _ value: String) throws {
        try FileManager.default.createDirectory(
            atPath: path("secrets"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let isWritten = FileManager.default.createFile(
            atPath: path("secrets/\(name)"), contents: Data(value.utf8), attributes: [.posixPermissions: 0o600])
        try #require(isWritten)
    }

    /// The source's TCP address, such as http://127.0.0.1:41993.
    func url() throws -> String {
        try #require(try status().sources["apps"]?.listens.first { $0.contains("://") })
    }

    func port() throws -> UInt16 { try #require(UInt16(try url().split(separator: ":").last ?? "")) }

    /// The delivered events.
    func archived() -> [[String: Any]] { lines("archive.ndjson").compactMap(jsonObject) }

    /// All events in the journal, as it has them.
    func stored() throws -> [[String: Any]] {
        let dump = try penstock("journal", "dump", "--raw")
        guard dump.status == 0 else { throw Failure(dump.errors) }
        return dump.output.split(separator: "\n").compactMap { jsonObject(String($0)) }
    }

    func refused(_ reason: String) throws -> UInt64 {
        try status().sources["apps"]?.refusedByReason[reason] ?? 0
    }

    /// curl, which gives up after 60 s. The status follows the body, on a line of its own.
    func curl(_ arguments: String..., input: String = "") throws -> Program {
        try Program.run(
            "curl", ["-sS", "--noproxy", "*", "--max-time", "60", "-w", "%{http_code}\n"] + arguments, input: input)
    }
}
