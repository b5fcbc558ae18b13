import Events
import Foundation
import Platform
import Synchronization

/// Obtains access tokens of OAuth 2.0 (RFC 6749, RFC 7523), or from the metadata services of Google and Azure.
///
/// A service may give a new refresh token with each access token. The newest is kept in memory only.
package final class OAuth2Provider: CredentialProvider {
    package enum Grant: Sendable {
        case clientCredentials
        case refreshToken(String)
        case assertion(Assertion)
        /// The token of the machine's service account. Source: Google Cloud, "View and query VM metadata".
        case googleMetadata
        /// The token of the machine's managed identity. Source: Microsoft Learn, "How to use managed identities".
        case azureMetadata
    }

    /// A signed statement about who asks: a JWT (RFC 7519).
    package struct Assertion: Sendable {
        package var issuer: String
        package var subject: String?
        /// nil: the URL that it is sent to.
        package var audience: String?
        /// In PEM. Never shown.
        package var key: String
        package var keyID: String?

        package init(issuer: String, subject: String? = nil, audience: String? = nil, key: String, keyID: String? = nil)
        {
            self.issuer = issuer
            self.subject = subject
            self.audience = audience
            self.key = key
            self.keyID = keyID
        }
    }

    package struct Settings: Sendable {
        /// Where tokens are asked for.
        package var url: String
        package var grant: Grant
        package var clientID: String?
        package var clientSecret: String?
        /// The client's id and secret are sent in the form, not in a header field.
        package var sendsClientInForm = false
        package var scope: String?
        /// Further fields of the form, or of the query: `audience`, `resource`.
        package var parameters: [(name: String, value: String)] = []

        package init(url: String, grant: Grant) {
            self.url = url
            self.grant = grant
        }

        /// - Parameters:
        ///   - file: the JSON that Google makes for a service account.
        ///   - url: nil: the file names it.
        package init(serviceAccount file: String, subject: String?, url: String?) {
            let account = try? JSONDecoder().decode(ServiceAccount.self, from: Data(file.utf8))
            self.init(
                url: url ?? account?.token_uri ?? "https://oauth2.googleapis.com/token",
                grant: .assertion(
                    .init(
                        issuer: account?.client_email ?? "", subject: subject, key: account?.private_key ?? "",
                        keyID: account?.private_key_id)))
            // A missing secret has been reported already.
            if account == nil, !file.isEmpty {
                problem = CredentialError(
                    "the file of the service account is not Google's JSON, with client_email and private_key",
                    isRefusal: true)
            }
        }

        /// Why the settings cannot be used.
        fileprivate var problem: CredentialError?

        private struct ServiceAccount: Decodable {
            var client_email: String
            var private_key: String
            var private_key_id: String?
            var token_uri: String?
        }
    }

    static let assertionLifetime: Int64 = 3600
    /// A token of which the service does not say how long it lives.
    static let longestLifetime: Int64 = 365 * 86_400

    private let settings: Settings
    private let refreshToken: Mutex<String?>

    package init(_ settings: Settings) {
        self.settings = settings
        if case .refreshToken(let token) = settings.grant {
            refreshToken = Mutex(token)
        } else {
            refreshToken = Mutex(nil)
        }
    }

    package func check() throws {
        if let problem = settings.problem { throw problem }
        guard CurlURL(settings.url) != nil else { throw CredentialError("the URL for tokens is not valid") }
        // A missing key has been reported already.
        if case .assertion(let assertion) = settings.grant, !assertion.key.isEmpty {
            _ = try PrivateKey(pem: assertion.key, .rs256)
        }
    }

    package var standIn: Credential { Credential(.bearer("<access token>")) }

    package func begin(at time: Int64) throws(CredentialError) -> CredentialStep {
        if let problem = settings.problem { throw problem }
        return .send(try request(at: time)) { [self] answer throws(CredentialError) in
            .done(try credential(answer, at: time))
        }
    }

    // MARK: Requests

    private func request(at time: Int64) throws(CredentialError) -> CredentialRequest {
        switch settings.grant {
        case .googleMetadata:
            return metadata(
                [.init(name: "Metadata-Flavor", value: "Google")], settings.scope.map { [("scopes", $0)] } ?? [])
        case .azureMetadata:
            return metadata([.init(name: "Metadata", value: "true")], [("api-version", "2018-02-01")])
        case .clientCredentials: return form([("grant_type", "client_credentials")])
        case .refreshToken:
            return form([
                ("grant_type", "refresh_token"), ("refresh_token", refreshToken.withLock { $0 } ?? ""),
            ])
        case .assertion(let assertion):
            return form(
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", try signed(assertion, at: time)),
                ], hasScope: false)
        }
    }

    private func metadata(
        _ headers: [HTTPOptions.Header], _ fields: [(name: String, value: String)]
    ) -> CredentialRequest {
        let query = FormText.encode(fields + settings.parameters)
        let url = query.isEmpty ? settings.url : settings.url + (settings.url.contains("?") ? "&" : "?") + query
        return CredentialRequest(method: .GET, url: url, headers: headers, isLocal: true)
    }

    private func form(_ fields: [(name: String, value: String)], hasScope: Bool = true) -> CredentialRequest {
        var fields = fields
        if hasScope, let scope = settings.scope { fields.append(("scope", scope)) }
        var credentials: String?
        if let id = settings.clientID {
            if let secret = settings.clientSecret, !settings.sendsClientInForm {
                // RFC 6749, section 2.3.1: both are encoded as in a form first.
                let pair = [id, secret].map { FormText.encode([("", $0)]).dropFirst() }.joined(separator: ":")
                credentials = Data(pair.utf8).base64EncodedString()
            } else {
                fields.append(("client_id", id))
                if let secret = settings.clientSecret { fields.append(("client_secret", secret)) }
            }
        }
        var request = CredentialRequest.form(fields + settings.parameters, to: settings.url)
        request.headers.append(.init(name: "Accept", value: "application/json"))
        if let credentials { request.headers.append(.init(name: "Authorization", value: "Basic \(credentials)")) }
        return request
    }

    // MARK: Assertions

    private struct Header: Encodable {
        var alg = "RS256"
        var typ = "JWT"
        var kid: String?
    }

    private struct Claims: Encodable {
        var iss: String
        var sub: String?
        var aud: String
        var scope: String?
        var iat, exp: Int64
    }

    private func signed(_ assertion: Assertion, at time: Int64) throws(CredentialError) -> String {
        let seconds = time / 1_000_000_000
        let claims = Claims(
            iss: assertion.issuer, sub: assertion.subject, aud: assertion.audience ?? settings.url,
            scope: settings.scope, iat: seconds, exp: seconds + Self.assertionLifetime)
        do {
            let parts = [try Self.text(Header(kid: assertion.keyID)), try Self.text(claims)].joined(separator: ".")
            let key = try PrivateKey(pem: assertion.key, .rs256)
            return parts + "." + Self.base64URL(Data(try key.signature(of: Array(parts.utf8))))
        } catch {
            throw CredentialError("\(error)", isRefusal: true)
        }
    }

    private static func text(_ part: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return base64URL(try encoder.encode(part))
    }

    private static func base64URL(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    // MARK: Answers

    private struct Answer: Decodable {
        var token: String
        /// Seconds.
        var lifetime: Int64?
        var refreshToken: String?

        enum CodingKeys: String, CodingKey {
            case token = "access_token"
            case lifetime = "expires_in"
            case refreshToken = "refresh_token"
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            token = try fields.decode(String.self, forKey: .token)
            // Azure writes a string.
            if let number = try? fields.decode(Double.self, forKey: .lifetime) {
                lifetime = Int64(saturating: number)
            } else if let text = try? fields.decode(String.self, forKey: .lifetime) {
                lifetime = Int64(text)
            }
            refreshToken = try? fields.decode(String.self, forKey: .refreshToken)
        }
    }

    /// Section 5.2 of RFC 6749.
    private struct Refusal: Decodable {
        var error: String
        var error_description: String?
    }

    private func credential(_ answer: CredentialAnswer, at time: Int64) throws(CredentialError) -> Credential {
        guard answer.isSuccess else {
            var cause = "HTTP \(answer.status)"
            if let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(answer.body)) {
                cause += ", \(refusal.error)" + (refusal.error_description.map { ": \($0)" } ?? "")
            }
            throw CredentialError(
                "no access token: \(cause)",
                isRefusal: answer.isRefusal)
        }
        guard let fields = try? JSONDecoder().decode(Answer.self, from: Data(answer.body)), !fields.token.isEmpty,
            fields.token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw CredentialError("no access token: the answer has no usable access_token") }
        if let token = fields.refreshToken, !token.isEmpty {
            refreshToken.withLock { current in if current != nil { current = token } }
        }
        // Some services say 0 for a token that does not end.
        guard let seconds = fields.lifetime, seconds > 0 else { return Credential(.bearer(fields.token)) }
        let lifetime = min(seconds, Self.longestLifetime) * 1_000_000_000
        return Credential(.bearer(fields.token), expires: time.saturatingAdd(lifetime))
    }
}
