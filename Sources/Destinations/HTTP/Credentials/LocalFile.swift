import Foundation

/// Reads small files that hold credentials.
enum LocalFile {
    static let longest = 1 << 20

    /// - Returns: nil: there is no such file.
    static func text(_ path: String) throws(CredentialError) -> String? {
        guard let file = FileHandle(forReadingAtPath: path) else {
            guard FileManager.default.fileExists(atPath: path) else { return nil }
            throw CredentialError("\(path) cannot be read: give the user of the daemon access", isRefusal: true)
        }
        defer { try? file.close() }
        guard let bytes = try? file.read(upToCount: longest + 1) ?? Data() else {
            throw CredentialError("\(path) cannot be read", isRefusal: true)
        }
        guard bytes.count <= longest else {
            throw CredentialError("\(path) is longer than \(longest >> 20) MiB", isRefusal: true)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A token in a file, without the line's end.
    static func token(_ path: String) throws(CredentialError) -> String {
        guard let text = try text(path) else {
            throw CredentialError("the file with the token is missing: \(path)", isRefusal: true)
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
