import Foundation

/// The text of one configuration file, in lines as libyaml counts them.
package final class ConfigurationFile: Sendable {
    /// Far more than any hand-written configuration needs. A larger file was named by mistake.
    package static let maximumSize = 1 << 20

    /// As shown in errors.
    package let path: String
    package let text: String
    /// Without line ends.
    package let lines: [String]
    /// The lines as scalars, for finding columns. Computed once, since one line may hold thousands of values.
    let scalars: [[Unicode.Scalar]]

    package init(path: String, text: String) {
        self.path = path
        self.text = text
        lines = Self.split(text)
        scalars = lines.map { Array($0.unicodeScalars) }
    }

    /// The directory that relative paths in this file are relative to.
    package var directory: String { Self.directory(of: path) }

    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package func place(line: Int, column: Int, length: Int = 1) -> Place {
        let text = lines.indices.contains(line - 1) ? lines[line - 1] : ""
        return Place(file: path, line: line, column: column, length: length, text: text)
    }

    /// Reads a file. Reports a file that is missing, too large, or not text.
    /// - Parameter name: the place where another file names this one, for errors.
    package static func read(_ path: String, namedAt name: Place? = nil, _ diagnostics: Diagnostics)
        -> ConfigurationFile?
    {
        let (place, subject) = name.map { ($0, "\(quoted(path)) ") } ?? (Place(file: path), "")
        let bytes: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            bytes = try handle.read(upToCount: maximumSize + 1) ?? Data()
        } catch {
            diagnostics.error(
                at: place, "\(subject)cannot be read: \(Self.reason(error))",
                hint: "check that the file is there and that this user may read it")
            return nil
        }
        guard bytes.count <= maximumSize else {
            diagnostics.error(at: place, "\(subject)is larger than the 1 MiB that a configuration file may have")
            return nil
        }
        return decode([UInt8](bytes), path: path, diagnostics)
    }

    /// Decodes UTF-8 without control characters.
    package static func decode(_ bytes: [UInt8], path: String, _ diagnostics: Diagnostics) -> ConfigurationFile? {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            // Decode with replacement characters, to find the place of the error.
            let lossy = ConfigurationFile(path: path, text: String(decoding: bytes, as: UTF8.self))
            let line = lossy.lines.firstIndex { $0.unicodeScalars.contains("\u{FFFD}") } ?? 0
            let column =
                lossy.lines.indices.contains(line)
                ? lossy.lines[line].unicodeScalars.prefix { $0 != "\u{FFFD}" }.count : 0
            diagnostics.error(
                at: lossy.place(line: line + 1, column: column + 1), "the file is not valid UTF-8 here",
                hint: "save the file as UTF-8")
            return nil
        }
        // A byte order mark is not part of the text.
        if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        let file = ConfigurationFile(path: path, text: text)
        for (number, line) in file.scalars.enumerated() {
            if let column = line.firstIndex(where: { !isPrintable($0) }) {
                diagnostics.error(
                    at: file.place(line: number + 1, column: column + 1),
                    "a character that YAML does not allow", hint: "write it as an escape in double quotes")
                return nil
            }
        }
        return file
    }

    /// YAML's `c-printable`, which libyaml requires.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x20...0x7E, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x1_0000...0x10_FFFF: true
        default: false
        }
    }

    /// libyaml ends a line at CR, LF, CR LF, NEL, LS and PS. This must match, or its marks would point elsewhere.
    private static func split(_ text: String) -> [String] {
        var lines: [String] = []
        var current = String.UnicodeScalarView()
        var afterReturn = false
        for scalar in text.unicodeScalars {
            let completesReturn = afterReturn && scalar == "\n"
            afterReturn = scalar == "\r"
            if completesReturn { continue }
            switch scalar {
            case "\r", "\n", "\u{85}", "\u{2028}", "\u{2029}":
                lines.append(String(current))
                current = String.UnicodeScalarView()
            default:
                current.append(scalar)
            }
        }
        lines.append(String(current))
        return lines
    }

    /// The reason in a few words, without Foundation's sentence around it.
    package static func reason(_ error: any Error) -> String {
        var cause = error as NSError
        while let next = cause.userInfo[NSUnderlyingErrorKey] as? NSError { cause = next }
        guard cause.domain == NSPOSIXErrorDomain else {
            return error is CocoaError ? "it is not a readable file" : error.localizedDescription
        }
        switch POSIXErrorCode(rawValue: Int32(clamping: cause.code)) {
        case .ENOENT: return "no such file or directory"
        case .EACCES, .EPERM: return "permission denied"
        case .EISDIR: return "it is a directory"
        case .ELOOP: return "too many symbolic links"
        case .EMFILE, .ENFILE: return "too many open files"
        default: return "errno \(cause.code), see errno(3)"
        }
    }
}
