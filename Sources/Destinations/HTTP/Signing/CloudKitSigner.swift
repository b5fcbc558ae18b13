import Events
import Foundation
import Hashing

/// Signs a request as CloudKit requires of a server: ES256 (ECDSA over P-256 with SHA-256) of the time, the body's hash
/// and the path. Immutable; any thread.
package struct CloudKitSigner: RequestSigner {
    /// The key's id in CloudKit.
    package var keyID: String
    /// The private key in PEM. Never shown.
    package var key: String

    package init(keyID: String, key: String) {
        self.keyID = keyID
        self.key = key
    }

    package func headers(
        signing request: UnsignedRequest, with credential: Credential?, at time: Int64
    ) throws -> [HTTPOptions.Header] {
        // CloudKit accepts only a time without a fraction.
        let date = String(Timestamp.format(time - time % 1_000_000_000).prefix(19)) + "Z"
        let hash = Digest(key: nil).hash(request.body.span)
        let path = CurlURL(request.url)?.path ?? "/"
        let text = "\(date):\(Data(hash.indices.map { hash[$0] }).base64EncodedString()):\(path)"
        return [
            .init(name: "X-Apple-CloudKit-Request-KeyID", value: keyID),
            .init(name: "X-Apple-CloudKit-Request-ISO8601Date", value: date),
            .init(
                name: "X-Apple-CloudKit-Request-SignatureV1",
                value: Data(try signature(of: Array(text.utf8))).base64EncodedString()),
        ]
    }

    package func check() throws {
        // A missing key has been reported already.
        if !key.isEmpty { _ = try signature(of: []) }
    }

    /// The signature in ASN.1 (DER), the format that libcrypto writes and CloudKit reads.
    private func signature(of text: [UInt8]) throws -> [UInt8] { try PrivateKey(pem: key, .es256).signature(of: text) }
}
