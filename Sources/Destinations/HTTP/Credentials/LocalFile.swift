import Foundation
import Platform

/// Reads small files that hold credentials.
enum LocalFile {
    static let longest = 1 << 20

    /// - Returns: nil: there is no such file.
    static func text(_ path: String) throws(CredentialError) -> String? {
        var bytes: [UInt8]?
        do throws(SystemError) {
            // A named pipe would otherwise wait for its writer.
            let file = try FileDescriptor.openWithoutWaiting(path)
            if try file.size() != nil { bytes = try whole(file) }
        } catch {
            // Also if a directory on the way cannot be entered: a system user often has no home.
            guard FileManager.default.fileExists(atPath: path) else { return nil }
            throw CredentialError("\(error): give the user of the daemon access to the file", isRefusal: true)
        }
        guard let bytes else { throw CredentialError("\(path) is not a regular file", isRefusal: true) }
        guard bytes.count <= longest else {
            throw CredentialError("\(path) is longer than \(longest >> 20) MiB", isRefusal: true)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// At most one byte more than allowed. A network filesystem may return a part only.
    private static func whole(_ file: borrowing FileDescriptor) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= longest {
            let part = try file.read(upTo: longest + 1 - bytes.count)
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }

    /// A token in a file, without the line's end.
    static func token(_ path: String) throws(CredentialError) -> String {
        guard let text = try text(path) else {
            throw CredentialError("the file with the token is missing: \(path)", isRefusal: true)
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
