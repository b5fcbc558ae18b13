/// A certificate or a key cannot be used.
package struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Part: Sendable { case certificate, key, clientCA }

    package enum Reason: Sendable, Equatable {
        case unreadable(SystemError)
        case notARegularFile
        case tooLong
        /// The words of OpenSSL, or words like them: "it does not belong to the certificate".
        case content(String)
    }

    package var part: Part
    /// nil: the key was given as bytes.
    package var path: String?
    package var reason: Reason

    /// What is wrong.
    package var message: String {
        let name = what + (path.map { " in " + $0.withControlCharactersEscaped } ?? "")
        return switch reason {
        case .unreadable(let error): "\(name) cannot be read: \(error)"
        case .notARegularFile: "\(name) cannot be read: it is not a regular file"
        case .tooLong: "\(name) cannot be read: the file is larger than 1 MiB"
        case .content(let words): "\(name) cannot be used: \(words)"
        }
    }

    /// What to do.
    package var hint: String {
        switch (part, reason) {
        case (.key, .unreadable(let error)) where error.isForbidden:
            """
            the daemon's user must be able to read it; or let systemd read it: \
            LoadCredential=tls_key:\(path ?? "PATH") in [Service] with `systemctl edit penstock`, and \
            key: !secret tls_key here
            """
        case (_, .unreadable(let error)) where error.isForbidden: "the daemon's user must be able to read it"
        case (_, .unreadable), (_, .notARegularFile), (_, .tooLong): "give the path of a PEM file"
        case (.key, .content(let words)) where words.contains("passphrase"):
            "remove the passphrase with `openssl pkey -in KEY -out PLAIN`, and let only the daemon's user read PLAIN"
        case (.key, .content(let words)) where words.contains("belong"):
            "give the key that the first certificate of the chain was made for"
        case (.certificate, .content):
            "give a PEM file with the server's certificate, followed by the intermediate certificates"
        case (.key, .content): "give a private key in PEM format, without a passphrase"
        case (.clientCA, .content): "give a PEM file with the certificate authorities of the clients"
        }
    }

    package var description: String { "\(message): \(hint)" }

    private var what: String {
        switch part {
        case .certificate: "the certificate"
        case .key: "the private key"
        case .clientCA: "the clients' certificate authority"
        }
    }
}
