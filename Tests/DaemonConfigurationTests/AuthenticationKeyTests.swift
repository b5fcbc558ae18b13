import TestSupport
import Testing

@testable import DaemonConfiguration

/// `sign` and `auth` of an HTTP destination.
@Suite struct AuthenticationKeyTests {
    private func http(_ lines: String) throws -> Configuration.HTTP {
        let directory = try TemporaryDirectory()
        for name in ["id", "key", "token"] { try directory.write(name, "\(name)-value") }
        let result = withExtendedLifetime(directory) {
            ConfigurationLoader(credentialsDirectory: directory.path).load(
                text: withDestination("http: https://h\n" + lines), named: "/etc/penstock/p.yaml")
        }
        let destination = try #require(result.configuration?.destinations.first, "\(result.diagnostics)")
        guard case .http(let http) = destination.kind else { throw NotHTTP() }
        return http
    }

    private struct NotHTTP: Error {}

    @Test func `keys of AWS are filled in and hidden`() throws {
        let http = try http(
            """
            sign:
              scheme: aws4
              region: eu-central-1
              service: s3
              key_id: !secret id
              key: !secret key
              session_token: !secret token
            """)
        guard case .aws4(let aws) = http.signature else {
            Issue.record("\(http)")
            return
        }
        #expect(aws.region == "eu-central-1" && aws.service == "s3" && aws.keys?.id.revealed == "id-value")
        #expect(aws.keys?.key.revealed == "key-value" && aws.keys?.sessionToken?.revealed == "token-value")
        #expect(Set(http.secrets).isSuperset(of: ["key-value", "token-value"]))
        var text = ""
        dump(http, to: &text)
        #expect(!text.contains("-value"))
    }

    @Test func `keys of AWS may be left to the machine`() throws {
        guard case .aws4(let aws) = try http("sign: { scheme: aws4, region: r, service: s }").signature else {
            Issue.record("not aws4")
            return
        }
        #expect(aws.keys == nil)
    }

    @Test func `the request for a token is read and its secrets hidden`() throws {
        let http = try http(
            """
            auth:
              oauth2:
                token_url: https://id.example/token
                client_id: penstock
                client_secret: !secret key
                client_place: body
                scope: a b
                parameters: { audience: "x-{{ secret.id }}" }
            """)
        let authorization = try #require(http.authorization)
        #expect(authorization.grant == .clientCredentials && authorization.tokenURL == "https://id.example/token")
        #expect(authorization.clientPlace == .body && authorization.scope == "a b")
        #expect(authorization.parameters.map(\.value.revealed) == ["x-id-value"])
        #expect(Set(http.secrets).isSuperset(of: ["key-value", "id-value"]))
        var text = ""
        dump(http, to: &text)
        #expect(!text.contains("-value"))
    }

    @Test func `a key of CloudKit is hidden with its id`() throws {
        let http = try http("sign: { scheme: cloudkit, key_id: !secret id, key: !secret key }")
        #expect(Set(http.secrets).isSuperset(of: ["id-value", "key-value"]))
        var text = ""
        dump(http, to: &text)
        #expect(!text.contains("-value"))
    }

    @Test func `a session token of several lines adds no header`() throws {
        let directory = try TemporaryDirectory()
        for (name, value) in [("id", "A"), ("key", "K"), ("token", "T\r\nX-Evil: 1\n")] {
            try directory.write(name, value)
        }
        let keys = "scheme: aws4, region: r, service: s, key_id: !secret id, key: !secret key"
        let result = ConfigurationLoader(credentialsDirectory: directory.path).load(
            text: withDestination("http: https://h\nsign: { \(keys), session_token: !secret token }"),
            named: "/etc/penstock/p.yaml")
        #expect(result.diagnostics.contains { $0.message.contains("holds a control character") })
    }

    @Test(arguments: [
        ("sign: { scheme: aws4, service: s3 }", #""sign" needs "region""#),
        ("sign: { scheme: aws4, region: r }", #""sign" needs "service""#),
        ("sign: { scheme: aws4, region: r, service: s, key_id: A }", #""sign" needs "key""#),
        ("sign: { scheme: aws4, region: r, service: s, key: !secret k }", #""sign" needs "key_id""#),
        ("sign: { scheme: aws4, region: r, service: s, session_token: !secret k }", #""sign" needs "key""#),
        (
            "sign: { scheme: aws4, region: r, service: s, header: X }", #""header" is not a key of the scheme aws4"#
        ), ("sign: { header: X, key: !secret k, region: r }", #""region" is not a key of the scheme hmac"#),
        ("sign: { scheme: aws4, region: r, service: s, key_id: \"a\\tb\", key: !secret k }", "a control character"),
        ("auth: {}", #""auth" needs "oauth2""#),
        ("auth: { oauth2: { client_id: a } }", #""oauth2" needs "token_url""#),
        ("auth: { oauth2: { token_url: https://h/ } }", #""oauth2" needs "client_id""#),
        ("auth: { oauth2: { token_url: h, client_id: a } }", "\"h\" is not a URL"),
        (
            "auth: { oauth2: { grant: jwt, token_url: https://h/, issuer: a, key: !secret k, client_secret: !secret k } }",
            #""client_secret" is not a key of the grant jwt"#
        ), ("auth: { oauth2: { grant: google } }", #""oauth2" needs "scope""#),
        ("auth: { oauth2: { grant: azure_metadata } }", #""oauth2" needs "parameters""#),
        ("auth: { oauth2: { grant: google, scope: a, parameters: [a] } }", #""parameters" must be a map"#),
        (
            "auth: { oauth2: { grant: google, scope: a } }\nsign: { scheme: aws4, region: r, service: s }",
            #""sign" and "auth" would both write the header Authorization"#
        ),
        (
            "auth: { oauth2: { grant: google, scope: a } }\nheaders: { authorization: x }",
            "the header authorization is set twice"
        ),
        (
            "sign: { scheme: aws4, region: r, service: s }\nrequests: [ { headers: { X-Amz-Date: x } } ]",
            "the header X-Amz-Date is set twice"
        ),
        (
            "auth: { oauth2: { grant: google, scope: a } }\nrequests: [ { headers: { Authorization: x } }, { also: true } ]",
            "the header Authorization is set twice"
        ),
    ])
    func `what is missing or does not fit is named`(lines: String, words: String) {
        let messages = messages(withDestination("http: https://h\n" + lines))
        #expect(messages.contains { $0.contains(words) }, "\(messages)")
    }
}
