import Foundation
import TestSupport
import Testing

@testable import Destinations

/// Access tokens of OAuth 2.0.
@Suite struct OAuth2ProviderTests {
    private static let time: Int64 = 1_700_000_000_000_000_000

    private func request(_ provider: OAuth2Provider) throws -> CredentialRequest {
        guard case .send(let request, _) = try provider.begin(at: Self.time) else {
            throw CredentialError("no request")
        }
        return request
    }

    private func answer(_ provider: OAuth2Provider, _ status: Int, _ body: String) throws -> Credential {
        guard case .send(_, let then) = try provider.begin(at: Self.time),
            case .done(let credential) = try then(CredentialAnswer(status: status, body: Array(body.utf8)))
        else { throw CredentialError("no credential") }
        return credential
    }

    private func client(_ change: (inout OAuth2Provider.Settings) -> Void = { _ in }) -> OAuth2Provider {
        var settings = OAuth2Provider.Settings(url: "https://id.example/token", grant: .clientCredentials)
        settings.clientID = "id one"
        settings.clientSecret = "p:w"
        change(&settings)
        return OAuth2Provider(settings)
    }

    private func text(_ request: CredentialRequest) -> String { String(decoding: request.body, as: UTF8.self) }

    @Test func `a client's credentials are sent in a header or in the body`() throws {
        let inHeader = try request(
            client {
                $0.scope = "a b"
                $0.parameters = [("audience", "x/y")]
            })
        #expect(text(inHeader) == "grant_type=client_credentials&scope=a%20b&audience=x%2Fy")
        let basic = Data("id%20one:p%3Aw".utf8).base64EncodedString()
        #expect(inHeader.headers.contains(.init(name: "Authorization", value: "Basic \(basic)")))
        let inBody = try request(client { $0.sendsClientInForm = true })
        #expect(text(inBody) == "grant_type=client_credentials&client_id=id%20one&client_secret=p%3Aw")
        #expect(!inBody.headers.contains { $0.name == "Authorization" })
    }

    @Test(
        arguments: [
            (#"{"access_token":"t","expires_in":3600}"#, 3600), (#"{"access_token":"t","expires_in":"60"}"#, 60),
            (#"{"access_token":"t","expires_in":1.5}"#, 1), (#"{"access_token":"t","expires_in":-5}"#, nil),
            (#"{"access_token":"t","expires_in":9223372036854775807}"#, 365 * 86_400),
            (#"{"access_token":"t","expires_in":1e300}"#, 365 * 86_400), (#"{"access_token":"t"}"#, nil),
        ] as [(String, Int64?)])
    func `a token's life is read`(body: String, seconds: Int64?) throws {
        let credential = try answer(client(), 200, body)
        #expect(credential.expires == seconds.map { Self.time + $0 * 1_000_000_000 })
        guard case .bearer("t") = credential.proof else {
            Issue.record("\(body)")
            return
        }
    }

    @Test(arguments: ["", "{}", #"{"access_token":""}"#, #"{"access_token":"a b"}"#, #"{"access_token":"a\r\nX: 1"}"#])
    func `an answer without a usable token is an error`(body: String) {
        #expect(throws: CredentialError.self) { try answer(client(), 200, body) }
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_client","error_description":"who?"}"#, "HTTP 400, invalid_client: who?", true),
        (401, "no", "HTTP 401", true), (429, "", "HTTP 429", false), (503, "", "HTTP 503", false),
    ])
    func `a refusal says why, and what may pass is tried again`(
        status: Int, body: String, words: String, isRefusal: Bool
    ) {
        let error = #expect(throws: CredentialError.self) { try answer(client(), status, body) }
        #expect(error?.description == "no access token: \(words)" && error?.isRefusal == isRefusal)
    }

    @Test func `a new refresh token replaces the old one`() throws {
        let provider = OAuth2Provider(.init(url: "https://id.example/token", grant: .refreshToken("one")))
        #expect(text(try request(provider)) == "grant_type=refresh_token&refresh_token=one")
        _ = try answer(provider, 200, #"{"access_token":"t","refresh_token":"two"}"#)
        #expect(text(try request(provider)) == "grant_type=refresh_token&refresh_token=two")
        _ = try answer(provider, 200, #"{"access_token":"t"}"#)
        #expect(text(try request(provider)) == "grant_type=refresh_token&refresh_token=two")
    }

    @Test func `a service account of Google signs an assertion that openssl verifies`() throws {
        try withHTTPTestDirectory { directory in
            try run("openssl", "genpkey", "-algorithm", "RSA", "-out", "\(directory)/key.pem")
            try run("openssl", "pkey", "-in", "\(directory)/key.pem", "-pubout", "-out", "\(directory)/public.pem")
            let key = try String(contentsOfFile: "\(directory)/key.pem", encoding: .utf8)
            let file = try String(
                decoding: JSONSerialization.data(withJSONObject: [
                    "type": "service_account", "client_email": "p@x.iam.gserviceaccount.com", "private_key": key,
                    "private_key_id": "k1", "token_uri": "https://oauth2.googleapis.com/token",
                ]), as: UTF8.self)
            var settings = OAuth2Provider.Settings(serviceAccount: file, subject: nil, url: nil)
            settings.scope = "https://www.googleapis.com/auth/bigquery.insertdata"
            let provider = OAuth2Provider(settings)
            try provider.check()
            let sent = try request(provider)
            #expect(sent.url == "https://oauth2.googleapis.com/token")
            let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
            #expect(text(sent).hasPrefix(prefix))
            let parts = text(sent).dropFirst(prefix.count).split(separator: ".").map(String.init)
            #expect(parts.count == 3)
            #expect(decoded(parts[0]) == #"{"alg":"RS256","kid":"k1","typ":"JWT"}"#)
            #expect(
                decoded(parts[1])
                    == #"{"aud":"https://oauth2.googleapis.com/token","exp":1700003600,"iat":1700000000,"#
                    + #""iss":"p@x.iam.gserviceaccount.com","scope":"#
                    + #""https://www.googleapis.com/auth/bigquery.insertdata"}"#)
            try Data("\(parts[0]).\(parts[1])".utf8).write(to: URL(fileURLWithPath: "\(directory)/text"))
            try #require(bytes(parts[2])).write(to: URL(fileURLWithPath: "\(directory)/signature"))
            try run(
                "openssl", "dgst", "-sha256", "-verify", "\(directory)/public.pem", "-signature",
                "\(directory)/signature", "\(directory)/text")
        }
    }

    @Test(arguments: ["{}", "x", #"{"client_email":"a","private_key":"no key"}"#])
    func `a file that is no service account is named before anything is sent`(file: String) {
        let provider = OAuth2Provider(.init(serviceAccount: file, subject: nil, url: nil))
        #expect(throws: (any Error).self) { try provider.check() }
        #expect(throws: CredentialError.self) { try provider.begin(at: 0) }
    }

    @Test func `machines' tokens are asked for without a proxy`() throws {
        let google = try request(OAuth2Provider(.init(url: "http://metadata/token", grant: .googleMetadata)))
        #expect(google.method == .GET && google.isLocal && google.url == "http://metadata/token")
        #expect(google.headers == [.init(name: "Metadata-Flavor", value: "Google")])
        var settings = OAuth2Provider.Settings(url: "http://169.254.169.254/token", grant: .azureMetadata)
        settings.parameters = [("resource", "https://storage.azure.com/")]
        let azure = try request(OAuth2Provider(settings))
        #expect(
            azure.url
                == "http://169.254.169.254/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F")
        #expect(azure.headers == [.init(name: "Metadata", value: "true")])
    }

    private func bytes(_ text: String) -> Data? {
        var text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text)
    }

    private func decoded(_ text: String) -> String { String(decoding: bytes(text) ?? Data(), as: UTF8.self) }

    private func run(_ command: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(command)")
    }
}
