/// A signature while it is read.
struct SignatureDraft: Sendable {
    var scheme = Configuration.HTTP.Signature.Scheme.hmac
    var keyID: String?
    var header: String?
    var key: SecretTemplate?
    var algorithm = Configuration.HTTP.Signature.Algorithm.sha256
    var encoding = Configuration.HTTP.Signature.Encoding.hex
    var prefix = ""
    var timeHeader: String?

    /// nil: nothing is signed, or what it needs is missing.
    func value(_ fill: (SecretTemplate) -> ConcealedText) -> Configuration.HTTP.Signature? {
        guard let key, scheme == .cloudkit ? keyID != nil : header != nil else { return nil }
        return .init(
            scheme: scheme, keyID: keyID ?? "", header: header ?? "", algorithm: algorithm, encoding: encoding, prefix: prefix, timeHeader: timeHeader, keyText: fill(key))
    }
}

/// `destinations.NAME.sign`
extension Section where Target == DestinationDraft {
    static let signature = Section([
        Field("scheme", \.http.signature.scheme, .choice, "hmac: an HMAC of the body; cloudkit: ES256, for CloudKit's web services"),
        Field("header", \.http.signature.header, .headerName, default: "none", "the header that the signature goes into"),
        Field("key", \.http.signature.key, .secretReference, default: "none", "!secret NAME: what the receiver knows as well; for cloudkit the private key, PEM"),
        Field("key_id", \.http.signature.keyID, .word("text"), default: "none", "of cloudkit: the key's id there"),
        Field("algorithm", \.http.signature.algorithm, .choice, "the hash that the HMAC is made with"),
        Field("encoding", \.http.signature.encoding, .choice, "how the signature is written"),
        Field("prefix", \.http.signature.prefix, .word("text"), "what stands before the signature, such as sha256="),
        Field(
            "time_header", \.http.signature.timeHeader, .headerName, default: "none",
            "a header for the time of signing (seconds since 1970), which is signed before the body, a dot between them"),
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
    /// A secret and nothing else.
    static var secretReference: Kind {
        Kind(.text("!secret NAME")) { node, key, diagnostics in
            guard let scalar = node.scalar, scalar.isSecret else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) has to be a secret, not \(node.found)", hint: "write \(key): !secret NAME")
                return nil
            }
            return SecretParsing.reference(scalar.text, at: node.place, .key, diagnostics).map { SecretTemplate(pieces: [$0]) }
        }
    }
}
