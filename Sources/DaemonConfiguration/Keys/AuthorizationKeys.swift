/// How access tokens are obtained, during reading.
struct AuthorizationDraft: Sendable {
    typealias Grant = Configuration.HTTP.Authorization.Grant

    var grant = Grant.clientCredentials
    var tokenURL: String?
    var clientID: String?
    var clientSecret: SecretTemplate?
    var clientPlace = Configuration.HTTP.Authorization.ClientPlace.header
    var refreshToken: SecretTemplate?
    var scope: String?
    var issuer: String?
    var subject: String?
    var audience: String?
    var key: SecretTemplate?
    var keyID: String?
    var serviceAccount: SecretTemplate?
    var parameters: [(name: String, value: SecretTemplate)]?
    var caFile: String?

    private static let client = ["client_id", "client_secret", "client_place", "scope", "parameters"]

    /// The keys that each grant has, and those of them that it needs.
    static let keys: [Grant: (needed: [String], others: [String])] = [
        .clientCredentials: (["token_url", "client_id"], client),
        .refreshToken: (["token_url", "refresh_token"], client),
        .jwt: (["token_url", "issuer", "key"], ["subject", "audience", "key_id", "scope", "client_id", "parameters"]),
        .google: (["scope"], ["service_account", "token_url", "subject", "parameters"]),
        .azureMetadata: (["parameters"], ["token_url"]),
    ]

    /// nil: no token is obtained, or a required key is missing.
    func value(_ fill: (SecretTemplate) -> ConcealedText) -> Configuration.HTTP.Authorization? {
        let isComplete =
            switch grant {
            case .clientCredentials: tokenURL != nil && clientID != nil
            case .refreshToken: tokenURL != nil && refreshToken != nil
            case .jwt: tokenURL != nil && issuer != nil && key != nil
            case .google, .azureMetadata: true
            }
        guard isComplete else { return nil }
        return .init(
            grant: grant, tokenURL: tokenURL, clientID: clientID, clientSecret: clientSecret.map(fill),
            clientPlace: clientPlace, refreshToken: refreshToken.map(fill), scope: scope, issuer: issuer,
            subject: subject, audience: audience, key: key.map(fill), keyID: keyID,
            serviceAccount: serviceAccount.map(fill),
            parameters: (parameters ?? []).map { .init(name: $0.name, value: fill($0.value)) }, caFile: caFile)
    }
}

/// `destinations.NAME.auth`
extension Section where Target == DestinationDraft {
    static let authorization = Section([
        Field("oauth2", keys: oauth2, "the access token of OAuth 2.0 that each request carries, renewed before it ends")
    ])

    private static let oauth2 = Section([
        Field(
            "grant", \.http.authorization.grant, .choice,
            "how a token is obtained: with a client's id and secret (client_credentials), with a refresh token"
                + " (refresh_token), with a signed assertion (jwt), as a service account of Google (google), or from"
                + " the metadata service of a machine of Azure (azure_metadata)"),
        Field(
            "token_url", \.http.authorization.tokenURL, .tokenURL, default: "Google's or Azure's",
            "the URL that tokens are asked for at"),
        Field("client_id", \.http.authorization.clientID, .word("text"), default: "none", "the client's id"),
        Field(
            "client_secret", \.http.authorization.clientSecret, .secretReference, default: "none",
            "the client's secret, as !secret NAME"),
        Field(
            "client_place", \.http.authorization.clientPlace, .choice,
            "where the client's id and secret are sent: in a header or in the body"),
        Field(
            "refresh_token", \.http.authorization.refreshToken, .secretReference, default: "none",
            "the refresh token, as !secret NAME; if the service gives a new one with each access token, it is kept in"
                + " memory only, until the daemon stops or a reload changes the destination"),
        Field("scope", \.http.authorization.scope, .word("text"), default: "none", "what the token is for"),
        Field("issuer", \.http.authorization.issuer, .word("text"), default: "none", "for jwt: who asks (iss)"),
        Field(
            "subject", \.http.authorization.subject, .word("text"), default: "none",
            "for jwt and google: on whose behalf (sub)"),
        Field(
            "audience", \.http.authorization.audience, .word("text"), default: "token_url",
            "for jwt: whom the assertion is for (aud)"),
        Field(
            "key", \.http.authorization.key, .secretReference, default: "none",
            "for jwt: the private RSA key in PEM format, as !secret NAME; assertions are signed with RS256"),
        Field("key_id", \.http.authorization.keyID, .word("text"), default: "none", "for jwt: the key's id (kid)"),
        Field(
            "service_account", \.http.authorization.serviceAccount, .secretReference, default: "none",
            "for google: the JSON file of the service account, as !secret NAME; without it, the metadata service of the"
                + " machine is asked"),
        Field(
            "parameters", \.http.authorization.parameters, .parameters, default: "none",
            "further fields of the request for a token, such as audience or resource"),
        Field(
            "ca_file", \.http.authorization.caFile, .path, default: "tls.ca_file",
            "the PEM file with the certificate authorities to trust when a token is asked for"),
    ])
}

extension Kind where Value == String {
    static var tokenURL: Kind {
        .text(
            "a URL", .text("a URL"), hint: "write https://…", show: { $0 },
            convert: { text in
                let isPlain = text.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 0x20 && $0.value != 0x7F }
                return isPlain && (text.hasPrefix("https://") || text.hasPrefix("http://")) ? text : nil
            })
    }
}

extension Kind where Value == [(name: String, value: SecretTemplate)] {
    static var parameters: Kind {
        Kind(.map(of: .text("text"))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map, not \(node.found)",
                    hint: "write \(key): { audience: value }")
                return nil
            }
            return entries.compactMap { entry in
                SecretParsing.template(
                    entry.value, in: "a parameter", encoding: .plain, takesValues: false, diagnostics
                ).map { (entry.key, $0) }
            }
        }
    }
}
