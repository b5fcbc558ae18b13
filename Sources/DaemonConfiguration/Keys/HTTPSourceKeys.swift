import Platform

/// A source's TCP listener during reading. Its secrets have not been read yet.
struct HTTPListenerDraft: Sendable {
    enum Key: Sendable {
        case file(String)
        case secret(SecretTemplate)
    }

    var address: SocketAddress?
    var insecure = false
    var certificate: String?
    var key: Key?
    var clientCA: String?
}

/// The keys of a source that concern HTTP.
extension Section where Target == SourceDraft {
    static let http: [Field<SourceDraft>] = [
        Field(
            "http", \.http.address, .listenAddress(), default: "none",
            "the address and port of a TCP listener for HTTP: 127.0.0.1:8377, \"[::1]:8377\"; an address that other"
                + " machines can reach needs tls, or insecure: true; with port 0, the kernel chooses the port"),
        Field(
            "write_keys", \.writeKeys, .writeKeys,
            "the secrets of which an HTTP client must send one as its write key; http needs at least one; without http,"
                + " they are optional"),
        Field(
            "tls",
            keys: Section([
                Field(
                    "certificate", \.http.certificate, .path, default: "none",
                    "the PEM file with the server's certificate and its chain"),
                Field(
                    "key", \.http.key, .listenerKey, default: "in certificate",
                    "the private key of the certificate: a PEM file, or !secret NAME"),
                Field(
                    "client_ca", \.http.clientCA, .path, default: "none",
                    "the PEM file with certificate authorities; with it, a client must have a certificate of one of"
                        + " them"),
            ]),
            "TLS for the HTTP listener: version 1.2 or 1.3; a reload reads the files again"),
        Field(
            "insecure", \.http.insecure, .flag,
            "whether HTTP without TLS is allowed on an address that other machines can reach; write keys and events are"
                + " then readable on the network"),
        Field(
            "allow_origins", \.source.allowedOrigins, .origins, default: "none",
            "the websites whose pages may send events from a browser (CORS), such as https://shop.example; \"*\" alone"
                + " means every website"),
        Field(
            "max_batch_events", \.source.httpLimits.batchEvents, .integer(1...1_000_000),
            "the maximum number of events in an HTTP request"),
        Field(
            "max_batch_size", \.source.httpLimits.batchSize, .size((1 << 10)...(64 << 20)),
            "the maximum size of the body of an HTTP request, after decompression"),
        Field(
            "max_request_head", \.source.httpLimits.requestHead, .size((1 << 10)...(1 << 20)),
            "the maximum size of the request line and the headers of an HTTP request"),
        Field(
            "max_decompression_ratio", \.source.httpLimits.decompressionRatio, .integer(1...2_000),
            "how many times larger the body of an HTTP request may become by decompression"),
        Field(
            "max_wait", \.source.httpLimits.wait, .duration(.milliseconds(100)...days(1)),
            "the maximum time that an HTTP request waits for space in the journal; after it, the answer is 503, and the"
                + " client should send the request again"),
    ]
}

extension Kind where Value == SocketAddress {
    /// - Parameter port: the port in examples.
    static func listenAddress(port: UInt16 = 8377) -> Kind {
        .text(
            "an address and a port", .text("HOST:PORT"),
            hint: "an address is written 127.0.0.1:\(port) or \"[::1]:\(port)\"; a name other than localhost is not"
                + " resolved",
            meant: { text in UInt16(text).map { "127.0.0.1:\($0)" } }, show: \.description,
            convert: { SocketAddress($0) })
    }
}

extension Kind where Value == [SecretTemplate] {
    static var writeKeys: Kind {
        Kind(.list(of: .text("!secret NAME"))) { node, key, diagnostics in
            if node.scalar?.isReported == true { return nil }
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place.concealed(), "\(quoted(key)) must be a list of secrets, not \(node.found)",
                    hint: "write \(key): [!secret NAME]")
                return nil
            }
            return items.compactMap { item in
                if item.scalar?.isReported == true { return nil }
                guard let scalar = item.scalar, scalar.isSecret else {
                    // The value may be a write key, which must not reach a log.
                    diagnostics.error(
                        at: item.place.concealed(), "a write key must be a secret, not \(item.found)",
                        hint: "put the key into a file in the directory of the secrets, and write !secret NAME")
                    return nil
                }
                return SecretParsing.reference(scalar.text, at: item.place, .plain, diagnostics).map {
                    SecretTemplate(pieces: [$0])
                }
            }
        }
    }
}

extension Kind where Value == HTTPListenerDraft.Key {
    /// A path or a secret.
    static var listenerKey: Kind {
        Kind(.either([.text("a path"), .text("!secret NAME")])) { node, key, diagnostics in
            if node.scalar?.isSecret == true {
                return Kind<SecretTemplate>.secretReference.read(node, key, diagnostics).map { .secret($0) }
            }
            if let text = node.scalar?.text, text.contains("-----BEGIN") {
                diagnostics.error(
                    at: node.place.concealed(), "\(quoted(key)) must be a path or a secret, not the private key itself",
                    hint: "put the key into a file that only the daemon's user can read")
                return nil
            }
            return Kind<String>.path.read(node, key, diagnostics).map { .file($0) }
        }
    }
}

extension Kind where Value == Configuration.AllowedOrigins {
    static var origins: Kind {
        Kind(.list(of: .text("an origin"))) { node, key, diagnostics in
            if node.scalar?.isReported == true { return nil }
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list of origins, not \(node.found)",
                    hint: node.scalar.flatMap { $0.isSecret ? nil : "write \(key): [\"\($0.text.prefix(80))\"]" })
                return nil
            }
            var origins: [String] = []
            for item in items {
                guard let text = plainText(item, key, "an origin", hint: Origin.hint, diagnostics) else { continue }
                if text == "*" {
                    guard items.count > 1 else { return .any }
                    diagnostics.error(
                        at: item.place, "\"*\" allows every origin, so the others have no effect",
                        hint: "write \(key): [\"*\"], or remove \"*\"")
                } else if let origin = Origin.normalized(text) {
                    origins.append(origin)
                } else {
                    diagnostics.error(
                        at: item.place, "\(quoted(text)) is not an origin",
                        hint: Origin.meant(text).map { "write \($0)" } ?? Origin.hint)
                }
            }
            return .only(origins)
        }
    }
}

/// `scheme://host[:port]` (RFC 6454), as browsers send it.
enum Origin {
    static let hint =
        "an origin is written https://shop.example, or with a port https://shop.example:8443; no path, no wildcard"

    /// In lower case, without the scheme's default port. nil: not an origin.
    static func normalized(_ text: String) -> String? {
        let lowered = text.lowercased()
        guard lowered.utf8.count <= 512, let colon = lowered.firstRange(of: "://") else { return nil }
        let scheme = lowered[..<colon.lowerBound]
        let authority = lowered[colon.upperBound...]
        guard let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) })
        else { return nil }
        var host = authority
        var port: Substring?
        // The colons of an IPv6 address are in brackets.
        let afterBrackets = authority.lastIndex(of: "]") ?? authority.startIndex
        if let last = authority[afterBrackets...].lastIndex(of: ":") {
            (host, port) = (authority[..<last], authority[authority.index(after: last)...])
        }
        guard isHost(host) else { return nil }
        guard let port else { return "\(scheme)://\(host)" }
        guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy(isDigit), let number = UInt16(port), number > 0
        else { return nil }
        let isDefault = scheme == "https" && number == 443 || scheme == "http" && number == 80
        return "\(scheme)://\(host)" + (isDefault ? "" : ":\(number)")
    }

    /// A URL without its path, or a host with a scheme.
    static func meant(_ text: String) -> String? {
        if let colon = text.firstRange(of: "://") {
            let end = text[colon.upperBound...].firstIndex { "/?#".contains($0) } ?? text.endIndex
            return end == text.endIndex ? nil : normalized(String(text[..<end]))
        }
        return text.contains(".") ? normalized("https://" + text) : nil
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]") {
            return host.contains(":") && RemoteAddress(String(host.dropFirst().dropLast())) != nil
        }
        return !host.isEmpty && host.utf8.allSatisfy { isLetter($0) || isDigit($0) || "-._".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
