/// A signature during reading.
struct SignatureDraft: Sendable {
    typealias Scheme = Configuration.HTTP.Signature.Scheme

    var scheme = Scheme.hmac
    var keyID: SecretTemplate?
    var header: String?
    var key: SecretTemplate?
    var algorithm = Configuration.HTTP.Signature.Algorithm.sha256
    var encoding = Configuration.HTTP.Signature.Encoding.hex
    var prefix = ""
    var timeHeader: String?
    var region: String?
    var service: String?
    var sessionToken: SecretTemplate?

    /// The keys that each scheme has, and those of them that it needs.
    static let keys: [Scheme: (needed: [String], others: [String])] = [
        .hmac: (["header", "key"], ["algorithm", "encoding", "prefix", "time_header"]),
        .cloudkit: (["key_id", "key"], []),
        .aws4: (["region", "service"], ["key_id", "key", "session_token"]),
    ]

    /// nil: requests are not signed, or a required key is missing.
    func value(_ fill: (SecretTemplate) -> ConcealedText) -> Configuration.HTTP.Signature? {
        switch scheme {
        case .hmac:
            guard let key, let header else { return nil }
            return .hmac(
                .init(
                    header: header, algorithm: algorithm, encoding: encoding, prefix: prefix, timeHeader: timeHeader,
                    key: fill(key)))
        case .cloudkit:
            guard let key, let keyID else { return nil }
            return .cloudkit(.init(keyID: fill(keyID), key: fill(key)))
        case .aws4:
            guard let region, let service else { return nil }
            var keys: Configuration.HTTP.Signature.AWS4.Keys?
            if let keyID, let key {
                keys = .init(id: fill(keyID), key: fill(key), sessionToken: sessionToken.map(fill))
            }
            return .aws4(.init(region: region, service: service, keys: keys))
        }
    }
}

/// `destinations.NAME.sign`
extension Section where Target == DestinationDraft {
    static let signature = Section([
        Field(
            "scheme", \.http.signature.scheme, .choice,
            "the signature: an HMAC of the body (hmac), ES256 for CloudKit's web services (cloudkit), or AWS's"
                + " Signature Version 4 (aws4)"),
        Field("header", \.http.signature.header, .headerName, default: "none", "the header for the signature"),
        Field(
            "key", \.http.signature.key, .secretReference, default: "none",
            "the key that is shared with the receiver, as !secret NAME; for cloudkit, the private key in PEM format;"
                + " for aws4, the secret access key"),
        Field(
            "key_id", \.http.signature.keyID, .secretText, default: "none",
            "the key's id in CloudKit; for aws4, the id of the access key; without key_id and key, aws4 finds keys"
                + " where AWS's SDKs find them: in the environment, a file, the container's or the instance's role"),
        Field(
            "session_token", \.http.signature.sessionToken, .sentSecret, default: "none",
            "for aws4: the session token of keys that end, as !secret NAME"),
        Field("region", \.http.signature.region, .word("a region"), default: "none", "for aws4: the region"),
        Field(
            "service", \.http.signature.service, .word("a service"), default: "none",
            "for aws4: the service's name in signatures, such as s3 or firehose"),
        Field("algorithm", \.http.signature.algorithm, .choice, "the HMAC's hash function"),
        Field("encoding", \.http.signature.encoding, .choice, "the encoding of the signature"),
        Field("prefix", \.http.signature.prefix, .word("text"), "the text before the signature, such as sha256="),
        Field(
            "time_header", \.http.signature.timeHeader, .headerName, default: "none",
            "the header for the time of signing (seconds since 1970); with it, the signature covers the time, a dot and"
                + " the body"),
    ])
}

extension Kind where Value == String {
    static var headerName: Kind {
        .text(
            "the name of a header", .text("the name of a header"), hint: "letters, digits and \"-\"", show: { $0 },
            convert: { HeaderDraft.isName($0) ? $0 : nil })
    }
}

extension Kind where Value == SecretTemplate {
    /// A key without other text. It is never sent.
    static var secretReference: Kind { reference(.key) }

    /// A secret without other text, which is sent in a header.
    static var sentSecret: Kind { reference(.plain) }

    private static func reference(_ encoding: SecretTemplate.Encoding) -> Kind {
        Kind(.text("!secret NAME")) { node, key, diagnostics in
            guard let scalar = node.scalar, scalar.isSecret else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a secret, not \(node.found)",
                    hint: "write \(key): !secret NAME")
                return nil
            }
            return SecretParsing.reference(scalar.text, at: node.place, encoding, diagnostics).map {
                SecretTemplate(pieces: [$0])
            }
        }
    }

    /// One line of text, which may hold secrets.
    static var secretText: Kind {
        Kind(.text("text")) { node, key, diagnostics in
            SecretParsing.template(node, in: quoted(key), encoding: .plain, takesValues: false, diagnostics)
        }
    }
}
