import Platform

/// The journal's UUID, and the position at which each destination ever declared started. A small text file, replaced as
/// a whole, that ends with its own checksum. Format.md specifies the layout.
struct Manifest: Equatable {
    static let name = "manifest"
    private static let limit = 4 << 20
    private static let title = "penstock-journal 1"

    var uuid: JournalUUID
    var incompatible: UInt64 = 0
    var compatible: UInt64 = 0
    /// By destination name: the position of the first event for it.
    var starts: [String: UInt64] = [:]

    init(uuid: JournalUUID) { self.uuid = uuid }

    var encoded: [UInt8] {
        var text = "\(Self.title)\nuuid \(uuid)\nincompatible \(incompatible)\ncompatible \(compatible)\n"
        for (name, start) in starts.sorted(by: { $0.key < $1.key }) { text += "destination \(start) \(name)\n" }
        let sum = String(Checksum.of(Array(text.utf8).span.raw), radix: 16)
        text += "crc32c " + String(repeating: "0", count: 8 - sum.count) + sum + "\n"
        return Array(text.utf8)
    }

    /// - Returns: nil if the file does not exist.
    static func read(
        in directory: String, _ disk: any Disk, _ protections: Protections = .all
    ) throws(JournalError) -> Manifest? {
        let path = directory + "/" + name
        let bytes = try journal("read the manifest") { () throws(SystemError) in
            try JournalContext.contents(path, limit: limit, disk)
        }
        guard let bytes else { return nil }
        guard let manifest = Manifest(bytes, protections) else {
            throw JournalError(
                .inconsistent,
                "journal: \(path) is damaged, and nothing can be read without it: restore that file from a copy, or"
                    + " move \(directory) away to start an empty journal")
        }
        guard manifest.incompatible == 0 else {
            throw JournalError(
                .unsupported,
                "journal: \(path) needs features (bits \(manifest.incompatible)) that this version does not support:"
                    + " install the version that wrote it, or a later one")
        }
        return manifest
    }

    init?(_ bytes: [UInt8], _ protections: Protections = .all) {
        guard bytes.last == UInt8(ascii: "\n"), let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        guard let last = lines.popLast(), last.hasPrefix("crc32c "), let sum = UInt32(last.dropFirst(7), radix: 16),
            Checksum.of(bytes.span.raw.extracting(0..<bytes.count - last.utf8.count - 1)) == sum
                || !protections.contains(.manifestChecksum),
            lines.popFirst().map(String.init) == Self.title
        else { return nil }
        var uuid: JournalUUID?
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            switch (words.first, words.count) {
            case ("uuid", 2): uuid = JournalUUID(words[1])
            case ("incompatible", 2):
                guard let bits = UInt64(words[1]) else { return nil }
                incompatible = bits
            case ("compatible", 2):
                guard let bits = UInt64(words[1]) else { return nil }
                compatible = bits
            case ("destination", 3):
                guard let start = UInt64(words[1]) else { return nil }
                starts[String(words[2])] = start
            default:
                // A line of a later version. If it mattered, an incompatible bit would be set.
                continue
            }
        }
        guard let uuid else { return nil }
        self.uuid = uuid
    }
}
