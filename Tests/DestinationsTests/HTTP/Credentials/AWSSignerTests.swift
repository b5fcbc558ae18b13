import Foundation
import Testing

@testable import Destinations

/// Signature Version 4. The examples are from the Amazon S3 API Reference, "Authenticating Requests: Using the
/// Authorization Header".
@Suite struct AWSSignerTests {
    /// 2013-05-24T00:00:00Z
    private static let time: Int64 = 1_369_353_600_000_000_000
    private let keys = AWSKeys(id: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

    private func signature(_ url: String, _ signer: AWSSigner, with credential: Credential? = nil) throws -> String {
        let headers = try signer.headers(
            signing: UnsignedRequest(method: "GET", url: url), with: credential, at: Self.time)
        return try #require(headers.first { $0.name == "Authorization" }?.value)
    }

    @Test(arguments: [
        ("?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("?max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        // The order in the URL does not matter.
        ("?prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ])
    func `a signature is that of the documentation`(query: String, expected: String) throws {
        let signer = AWSSigner(region: "us-east-1", service: "s3", keys: keys)
        #expect(
            try signature("http://examplebucket.s3.amazonaws.com/\(query)", signer)
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=\(expected)")
    }

    @Test(arguments: [
        ("https://h/d=1/(a)/b@c:d?x=1&y=(", "https://h/d%3D1/%28a%29/b%40c%3Ad?x=1&y=("),
        // Another spelling of what is encoded already.
        ("http://u:p@h:1/a%3db/%7Ec/%zz", "http://u:p@h:1/a%3Db/~c/%25zz"),
        ("https://h/\u{0}=\u{1}/=\u{0}", "https://h/\u{0}%3D\u{1}/%3D\u{0}"), ("https://h/%00%01", "https://h/%00%01"),
        ("https://h", "https://h"), ("https://h?a=/b=c", "https://h?a=/b=c"), ("https://h/é", "https://h/%C3%A9"),
    ])
    func `a path is sent to S3 as it is signed`(url: String, expected: String) throws {
        let signer = AWSSigner(region: "r", service: "s3")
        #expect(signer.spelling(of: url) == expected && signer.spelling(of: expected) == expected)
        #expect(AWSSigner(region: "r", service: "sqs").spelling(of: url) == url)
        // The path of the request is that of the signature.
        guard !url.contains(where: { $0 < " " }) else { return }
        let (text, _) = signer.canonicalRequest(UnsignedRequest(method: "PUT", url: expected), [], "HASH")
        let path = try #require(CurlURL(expected)).path
        #expect(text.split(separator: "\n")[1] == (path.isEmpty ? "/" : path))
    }

    @Test(arguments: [
        ("s3", "https://h/a%20b/c=d/%C3%A9~", "/a%20b/c%3Dd/%C3%A9~"), ("s3", "https://h/a+b", "/a%2Bb"),
        ("firehose", "https://h/a%20b/c=d", "/a%2520b/c%253Dd"), ("firehose", "https://h", "/"),
        ("s3", "https://h/%zz%", "/%25zz%25"),
    ])
    func `a path is encoded once for S3 and twice for other services`(service: String, url: String, expected: String) {
        let (text, _) = AWSSigner(region: "r", service: service).canonicalRequest(
            UnsignedRequest(method: "PUT", url: url), [], "HASH")
        #expect(text.split(separator: "\n")[1] == Substring(expected))
    }

    @Test func `the query is sorted and encoded in one way`() {
        let (text, _) = AWSSigner(region: "r", service: "s3").canonicalRequest(
            UnsignedRequest(method: "PUT", url: "https://h/?b=2&a=%2f&a=1&c&d=x=y&%65=*"), [], "HASH")
        #expect(text.split(separator: "\n")[2] == "a=%2F&a=1&b=2&c=&d=x%3Dy&e=%2A")
    }

    @Test func `the host, the type and Amazon's fields are signed`() {
        let (text, signed) = AWSSigner(region: "r", service: "s3").canonicalRequest(
            UnsignedRequest(
                method: "PUT", url: "https://h:8443/",
                headers: [
                    "X-Amz-Storage-Class:  REDUCED   REDUNDANCY ", "Content-Type: text/plain", "X-Other: 1", "Expect:",
                    "X-Amz-Empty;",
                ]), [.init(name: "X-Amz-Date", value: "D")], "HASH")
        #expect(signed == "content-type;host;x-amz-date;x-amz-empty;x-amz-storage-class")
        #expect(
            text == """
                PUT
                /

                content-type:text/plain
                host:h:8443
                x-amz-date:D
                x-amz-empty:
                x-amz-storage-class:REDUCED REDUNDANCY

                content-type;host;x-amz-date;x-amz-empty;x-amz-storage-class
                HASH
                """)
        let (other, _) = AWSSigner(region: "r", service: "s3").canonicalRequest(
            UnsignedRequest(method: "PUT", url: "https://h:443/", headers: ["Host: bucket.example"]), [], "HASH")
        #expect(other.contains("\nhost:bucket.example\n"))
    }

    @Test(arguments: [
        ("s3", "https", "UNSIGNED-PAYLOAD"),
        ("s3", "http", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("firehose", "https", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ])
    func `a body is hashed unless TLS protects it on the way to S3`(
        service: String, scheme: String, expected: String
    ) throws {
        let headers = try AWSSigner(region: "us-east-1", service: service, keys: keys).headers(
            signing: UnsignedRequest(method: "PUT", url: "\(scheme)://h/"), with: nil, at: Self.time)
        #expect(headers.first { $0.name == "X-Amz-Content-Sha256" }?.value == expected)
    }

    @Test func `keys that end carry their session token`() throws {
        let signer = AWSSigner(region: "us-east-1", service: "s3")
        var ending = keys
        ending.sessionToken = "TOKEN"
        let headers = try signer.headers(
            signing: UnsignedRequest(url: "https://h/"), with: Credential(.aws(ending)), at: Self.time)
        #expect(headers.first { $0.name == "X-Amz-Security-Token" }?.value == "TOKEN")
        #expect(headers.last?.value.contains("x-amz-date;x-amz-security-token,") == true)
        // Without a credential there is nothing to sign with.
        #expect(try signer.headers(signing: UnsignedRequest(url: "https://h/"), with: nil, at: 0).isEmpty)
        #expect(
            try signer.headers(signing: UnsignedRequest(url: "https://h/"), with: Credential(.bearer("t")), at: 0)
                .isEmpty)
    }

    @Test(arguments: [Int64.min, -1, 0, .max])
    func `every time can be signed`(time: Int64) throws {
        let signer = AWSSigner(region: "us-east-1", service: "s3", keys: keys)
        let headers = try signer.headers(signing: UnsignedRequest(url: "https://h/"), with: nil, at: time)
        let date = try #require(headers.first { $0.name == "X-Amz-Date" }?.value)
        #expect(date.count == 16 && date.hasSuffix("Z") && date.dropFirst(8).hasPrefix("T"))
    }
}
