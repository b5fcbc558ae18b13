import Foundation
import Platform

/// Reads small files that hold credentials.
enum LocalFile {
    static let longest = 1 << 20

    /// - Returns: nil: there is no such file.
    static func text(_ path: String) throws(CredentialError) -> String? {
        var bytes: [UInt8]?
        do throws(SystemError) {
            // Not blocking: a named pipe would wait for its writer.
            let file = try FileDescriptor.openWithoutWaiting(path)
            if try file.size() != nil { bytes = try file.read(upTo: longest + 1) }
        } catch {
            if error.isMissing { return nil }
            throw CredentialError("\(error): give the user of the daemon access to the file", isRefusal: true)
        }
        guard let bytes else { throw CredentialError("\(path) is not a regular file", isRefusal: true) }
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
