/// Checks the keys of `sign` and `auth`. Which of them are needed depends on the scheme and on the grant.
struct AuthenticationKeys {
    let diagnostics: Diagnostics

    private static let hints = [
        "header": "add header: X-Signature", "key_id": "add key_id: ID", "region": "add region: eu-central-1",
        "service": "add service: s3", "token_url": "add token_url: https://…", "client_id": "add client_id: ID",
        "issuer": "add issuer: NAME", "scope": "add scope: TEXT",
        "parameters": "add parameters: { resource: https://storage.azure.com/ }",
    ]

    func check(_ located: Located<DestinationDraft>) {
        let http = located.draft.http
        if located.found["sign"] != nil {
            let scheme = http.signature.scheme
            check("sign", "the scheme \(scheme.rawValue)", scheme, SignatureDraft.keys, in: located)
            for (one, other) in [("key", "key_id"), ("key_id", "key"), ("session_token", "key")]
            where scheme == .aws4 && located.found["sign.\(one)"] != nil && located.found["sign.\(other)"] == nil {
                need(other, of: "sign", in: located)
            }
        }
        if located.found["auth"] != nil, located.found["auth.oauth2"] == nil {
            need("oauth2", of: "auth", in: located)
        }
        if located.found["auth.oauth2"] != nil {
            let grant = http.authorization.grant
            check("auth.oauth2", "the grant \(grant.rawValue)", grant, AuthorizationDraft.keys, in: located)
            if http.signature.scheme == .aws4, let place = located.found["sign"]?.place {
                diagnostics.error(
                    at: place, "\"sign\" and \"auth\" would both write the header Authorization",
                    hint: "remove one of the two")
            }
        }
    }

    /// Checks the headers of one kind of request.
    /// - Parameter place: of the headers.
    func check(headers: [HeaderDraft], of http: HTTPDraft, in located: Located<DestinationDraft>, at place: Place) {
        let isSigned = located.found["sign"] != nil && http.signature.scheme == .aws4
        var written: Set<String> = []
        if located.found["auth.oauth2"] != nil || isSigned { written.insert("authorization") }
        if isSigned { written.formUnion(["x-amz-date", "x-amz-content-sha256", "x-amz-security-token"]) }
        for header in headers where written.contains(header.name.lowercased()) {
            diagnostics.error(
                at: place, "the header \(header.name) is set twice",
                hint: "remove it: \"\(isSigned ? "sign" : "auth")\" writes it")
        }
    }

    private func check<Choice>(
        _ section: String, _ choice: String, _ value: Choice, _ keys: [Choice: (needed: [String], others: [String])],
        in located: Located<DestinationDraft>
    ) {
        guard let own = keys[value] else { return }
        for key in own.needed where located.found["\(section).\(key)"] == nil {
            need(key, of: section, in: located)
        }
        let all = Set(keys.values.flatMap { $0.needed + $0.others }).subtracting(own.needed + own.others)
        for key in all.sorted() {
            guard let place = located.found["\(section).\(key)"]?.place else { continue }
            diagnostics.error(at: place, "\(quoted(key)) is not a key of \(choice)", hint: "remove it")
        }
    }

    private func need(_ key: String, of section: String, in located: Located<DestinationDraft>) {
        let name = String(section.split(separator: ".").last ?? "")
        diagnostics.error(
            at: located.found[section]?.place ?? located.place, "\(quoted(name)) needs \(quoted(key))",
            hint: Self.hints[key] ?? "add \(key): !secret NAME")
    }
}
