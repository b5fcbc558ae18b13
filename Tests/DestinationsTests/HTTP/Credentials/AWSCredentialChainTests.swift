import Foundation
import TestSupport
import Testing

@testable import Destinations

/// Where keys of AWS are found.
@Suite struct AWSCredentialChainTests {
    private static let time: Int64 = 1_700_000_000_000_000_000
    private static let json = """
        {"Code":"Success","AccessKeyId":"A","SecretAccessKey":"S","Token":"T","Expiration":"2023-11-14T23:13:20Z"}
        """
    /// An hour after `time`.
    private static let expires: Int64 = 1_700_003_600_000_000_000

    /// Follows the steps, and answers each request.
    private func obtain(
        _ environment: [String: String], _ answers: [(Int, String)] = []
    ) throws -> (Credential, [CredentialRequest]) {
        var step = try AWSCredentialChain(environment: environment, region: "eu-central-1").begin(at: Self.time)
        var (requests, answers) = ([CredentialRequest](), answers[...])
        while true {
            switch step {
            case .done(let credential): return (credential, requests)
            case .send(let request, let then):
                requests.append(request)
                let next = answers.popFirst()
                let (status, body) = try #require(next)
                step = try then(CredentialAnswer(status: status, body: Array(body.utf8)))
            }
        }
    }

    private func keys(_ credential: Credential) -> AWSKeys? {
        if case .aws(let keys) = credential.proof { keys } else { nil }
    }

    @Test func `the environment comes first`() throws {
        let (credential, requests) = try obtain([
            "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x",
        ])
        #expect(keys(credential) == AWSKeys(id: "A", secretKey: "S", sessionToken: "T"))
        #expect(requests.isEmpty && credential.expires == nil)
    }

    @Test func `a file's profile gives keys, and is read again`() throws {
        try withHTTPTestDirectory { directory in
            let file = "\(directory)/credentials"
            try """
            # the usual one
            [default]
            aws_access_key_id = A
            aws_secret_access_key=S/+=
            [ other ]
            AWS_ACCESS_KEY_ID = B
            aws_secret_access_key = S2
            aws_session_token = T2
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let (credential, _) = try obtain(["AWS_SHARED_CREDENTIALS_FILE": file])
            #expect(keys(credential) == AWSKeys(id: "A", secretKey: "S/+="))
            #expect(credential.expires.map { $0 > Self.time } == true)
            let (other, _) = try obtain(["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "other"])
            #expect(keys(other) == AWSKeys(id: "B", secretKey: "S2", sessionToken: "T2"))
            let error = #expect(throws: CredentialError.self) {
                try obtain(["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "third"])
            }
            #expect(error?.description == "the profile third in \(file) has no keys" && error?.isRefusal == true)
        }
    }

    @Test func `a file of credentials that is a named pipe is an error, not a wait for its writer`() throws {
        try withHTTPTestDirectory { directory in
            #expect(unsafe mkfifo(directory + "/pipe", 0o600) == 0)
            for file in [directory, directory + "/pipe"] {
                let error = #expect(throws: CredentialError.self) {
                    try obtain(["AWS_SHARED_CREDENTIALS_FILE": file])
                }
                #expect(error?.description == "\(file) is not a regular file" && error?.isRefusal == true)
            }
        }
    }

    @Test func `an instance's role needs three requests`() throws {
        let (credential, requests) = try obtain([:], [(200, "TOKEN\n"), (200, "role-1\n"), (200, Self.json)])
        #expect(keys(credential) == AWSKeys(id: "A", secretKey: "S", sessionToken: "T"))
        #expect(credential.expires == Self.expires)
        let base = "http://169.254.169.254/latest"
        #expect(
            requests.map { "\($0.method) \($0.url)" } == [
                "PUT \(base)/api/token", "GET \(base)/meta-data/iam/security-credentials/",
                "GET \(base)/meta-data/iam/security-credentials/role-1",
            ])
        #expect(requests[1].headers == [.init(name: "X-aws-ec2-metadata-token", value: "TOKEN")])
        #expect(requests.map(\.isLocal) == [true, true, true])
    }

    @Test func `an instance without a role is an operator's matter, and silence may pass`() throws {
        let none = #expect(throws: CredentialError.self) { try obtain([:], [(200, "T"), (404, "")]) }
        #expect(none?.isRefusal == true && none?.description.contains("has no role") == true)
        let busy = #expect(throws: CredentialError.self) { try obtain([:], [(503, "")]) }
        #expect(busy?.isRefusal == false)
        let nothing = #expect(throws: CredentialError.self) { try obtain(["AWS_EC2_METADATA_DISABLED": "true"]) }
        #expect(nothing?.isRefusal == true && nothing?.description.contains("sign.key_id") == true)
    }

    @Test func `a container's service is asked with its token`() throws {
        try withHTTPTestDirectory { directory in
            try "Basic abc\n".write(toFile: "\(directory)/token", atomically: true, encoding: .utf8)
            let (credential, requests) = try obtain(
                [
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "\(directory)/token",
                ], [(200, Self.json)])
            #expect(keys(credential)?.id == "A" && requests[0].url == "http://169.254.170.23/v1/credentials")
            #expect(requests[0].headers == [.init(name: "Authorization", value: "Basic abc")])
        }
        let (_, requests) = try obtain(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x"], [(200, Self.json)])
        #expect(requests[0].url == "http://169.254.170.2/v2/x" && requests[0].headers.isEmpty)
    }

    @Test(arguments: ["http://evil.example/", "http://127.0.0.1.evil.example/", "ftp://localhost/", "localhost", ""])
    func `another host is not asked for a container's keys without TLS`(url: String) {
        #expect(throws: (any Error).self) {
            try obtain(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_EC2_METADATA_DISABLED": "true"])
        }
    }

    @Test func `a web identity becomes keys at STS`() throws {
        try withHTTPTestDirectory { directory in
            try "ey.x&y".write(toFile: "\(directory)/token", atomically: true, encoding: .utf8)
            let environment = [
                "AWS_WEB_IDENTITY_TOKEN_FILE": "\(directory)/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
            ]
            let (credential, requests) = try obtain(
                environment,
                [
                    (
                        200,
                        """
                        <AssumeRoleWithWebIdentityResponse><Credentials><SessionToken>T&amp;</SessionToken>
                        <SecretAccessKey>S</SecretAccessKey><Expiration>2023-11-14T23:13:20Z</Expiration>
                        <AccessKeyId>A</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResponse>
                        """
                    )
                ])
            #expect(keys(credential) == AWSKeys(id: "A", secretKey: "S", sessionToken: "T&"))
            #expect(credential.expires == Self.expires)
            #expect(requests[0].url == "https://sts.eu-central-1.amazonaws.com/" && !requests[0].isLocal)
            #expect(
                String(decoding: requests[0].body, as: UTF8.self)
                    == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"
                    + "&RoleSessionName=penstock&WebIdentityToken=ey.x%26y")
            let refused = #expect(throws: CredentialError.self) {
                try obtain(
                    environment, [(403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")])
            }
            #expect(refused?.description == "AWS STS refused the role: AccessDenied" && refused?.isRefusal == true)
        }
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"AccessKeyId":"A","SecretAccessKey":"S","Expiration":"soon"}"#, "{\"Code\":\"Failed\"}",
    ])
    func `an answer without keys is an error`(body: String) {
        #expect(throws: CredentialError.self) {
            try obtain(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/"], [(200, body)])
        }
    }

    @Test func `keys with a line's end cannot add a header`() {
        let hostile = #"{"AccessKeyId":"A\r\nX: 1","SecretAccessKey":"S","Expiration":"2023-11-14T23:13:20Z"}"#
        #expect(throws: CredentialError.self) {
            try obtain(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/"], [(200, hostile)])
        }
    }
}
