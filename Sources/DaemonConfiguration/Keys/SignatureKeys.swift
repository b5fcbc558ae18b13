/// A signature during reading.
struct SignatureDraft: Sendable {
    var scheme = Configuration.HTTP.Signature.Scheme.hmac
    var keyID: String?
    var header: String?
    var key: SecretTemplate?
    var algorithm = Configuration.HTTP.Signature.Algorithm.sha256
    var encoding = Configuration.HTTP.Signature.Encoding.hex
    var prefix = ""
    var timeHeader: String?

    /// nil: requests are not signed, or a required key is missing.
    func value(_ fill: (SecretTemplate) -> ConcealedText) -> Configuration.HTTP.Signature? {
        guard let key, scheme == .cloudkit ? keyID != nil : header != nil else { return nil }
        return .init(
            scheme: scheme, keyID: keyID ?? "", header: header ?? "", algorithm: algorithm, encoding: encoding,
            prefix: prefix, timeHeader: timeHeader, keyText: fill(key))
    }
}

/// `destinations.NAME.sign`
extension Section where Target == DestinationDraft {
    static let signature = Section([
        Field(
            "scheme", \.http.signature.scheme, .choice,
            "the signature: an HMAC of the body (hmac), or ES256 for CloudKit's web services (cloudkit)"),
        Field("header", \.http.signature.header, .headerName, default: "none", "the header for the signature"),
        Field(
            "key", \.http.signature.key, .secretReference, default: "none",
            "the key that is shared with the receiver, as !secret NAME; for cloudkit, the private key in PEM format"),
        Field("key_id", \.http.signature.keyID, .word("text"), default: "none", "the key's id in CloudKit"),
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
    /// A secret without other text.
    static var secretReference: Kind {
        Kind(.text("!secret NAME")) { node, key, diagnostics in
            guard let scalar = node.scalar, scalar.isSecret else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a secret, not \(node.found)",
                    hint: "write \(key): !secret NAME")
                return nil
            }
            return SecretParsing.reference(scalar.text, at: node.place, .key, diagnostics).map {
                SecretTemplate(pieces: [$0])
            }
        }
    }
}
