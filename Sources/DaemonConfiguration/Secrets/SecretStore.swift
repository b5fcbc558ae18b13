import Foundation
import Platform

/// Reads secrets from systemd's credentials directory, then from `secrets.directory`. One thread.
final class SecretStore {
    static let maximumSize = 64 << 10

    private let directories: [String]
    /// A secret is only a warning if there is no directory to read it from: `penstock check` may run outside the unit.
    private let missingIsWarning: Bool
    private let diagnostics: Diagnostics
    /// Supplies a stand-in for each secret, so that none is read; nil: secrets are read.
    private let standIn: (@Sendable (String) -> String)?
    private var known: [String: SecretMemory] = [:]
    /// The files that secrets were read from, and where each secret is first named.
    private(set) var files: [(name: String, path: String, place: Place)] = []

    init(
        credentials: String?, directory: String?, missingIsWarning: Bool,
        standIn: (@Sendable (String) -> String)? = nil,
        _ diagnostics: Diagnostics
    ) {
        self.standIn = standIn
        directories = [credentials, directory].compactMap { $0 }
        self.missingIsWarning = missingIsWarning && directories.isEmpty
        self.diagnostics = diagnostics
    }

    /// Fills in the secrets. A secret that cannot be read is reported, and empty in the result.
    /// - Parameter singleLine: reject secrets with control characters, which could add a second header to a request.
    func resolve(_ template: SecretTemplate, singleLine: Bool = false) -> ConcealedText {
        ConcealedText(
            pieces: template.pieces.map { piece in
                switch piece {
                case .literal(let text): return .literal(text)
                case .value(let path, _): return .value(path: path)
                case .batch(let value, _): return .batch(value)
                case .secret(let name, let place, let encoding):
                    var value = read(name, at: place) ?? ""
                    if singleLine, encoding != .key,
                        value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
                    {
                        diagnostics.error(
                            at: place, "the secret \(name) holds a control character, which a header must not have",
                            hint: "a secret for a header is one line of text")
                        value = ""
                    }
                    switch encoding {
                    case .plain, .key: return .secret(Secret(name: name, value: value))
                    case .json: return .secret(Secret(name: name, value: JSONRendering.string(value), plain: value))
                    case .url:
                        return .secret(Secret(name: name, value: PercentEncoding.encode(value.utf8), plain: value))
                    }
                }
            })
    }

    /// Whether a file with the secret was found and read.
    func isRead(_ name: String) -> Bool { known[name] != nil }

    private func read(_ name: String, at place: Place) -> String? {
        if let standIn { return standIn(name) }
        if let value = known[name] { return value.text }
        for directory in directories {
            let path = directory + "/" + name
            guard FileManager.default.fileExists(atPath: path) else { continue }
            do {
                let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
                defer { try? handle.close() }
                let bytes = try handle.read(upToCount: Self.maximumSize + 1) ?? Data()
                guard bytes.count <= Self.maximumSize else {
                    diagnostics.error(at: place, "the secret \(name) is larger than 64 KiB", hint: "it is \(path)")
                    return nil
                }
                guard var value = String(validating: bytes, as: UTF8.self) else {
                    diagnostics.error(at: place, "the secret \(name) is not UTF-8 text", hint: "it is \(path)")
                    return nil
                }
                // A line feed that an editor or echo(1) put at the end is not part of the secret.
                if value.hasSuffix("\r\n") || value.hasSuffix("\n") { value.removeLast() }
                known[name] = SecretMemory(value)
                files.append((name, path, place))
                if value.isEmpty {
                    diagnostics.warning(at: place, "the secret \(name) is empty", hint: "write it to \(path)")
                }
                return value
            } catch {
                diagnostics.error(
                    at: place, "the secret \(name) cannot be read: \(ConfigurationFile.reason(error))",
                    hint: "it is \(path)")
                return nil
            }
        }
        reportMissing(name, at: place)
        return nil
    }

    private func reportMissing(_ name: String, at place: Place) {
        if missingIsWarning {
            diagnostics.warning(
                at: place, "the secret \(name) was not read: $CREDENTIALS_DIRECTORY is not set here",
                hint: "this is normal outside the service; or set secrets: { directory: … }")
        } else if directories.isEmpty {
            diagnostics.error(
                at: place, "there is no directory to read the secret \(name) from",
                hint:
                    "add LoadCredential=\(name):/path/of/the/file to the service (systemctl edit penstock) "
                    + "and restart it, since systemd passes credentials at the start and not at a reload; "
                    + "or set secrets: { directory: … }")
        } else {
            diagnostics.error(
                at: place, "there is no secret \(name) in \(directories.joined(separator: " or "))",
                hint:
                    "create the file; or add LoadCredential=\(name):/path/of/the/file to the service "
                    + "(systemctl edit penstock) and restart it: systemd passes credentials at the start, "
                    + "so a reload does not read a new secret")
        }
    }
}
