import CCrypto
import Events
import Foundation
import Platform

/// Signs a request's body with a key shared with the receiver: HMAC (RFC 2104) in a header, as webhooks use it.
/// Immutable; any thread.
///
/// Unsafe part: libcrypto's one-shot call, which reads and writes only its arguments and keeps no pointer.
@safe package struct HMACSigner: RequestSigner {
    package enum Algorithm: String, Sendable, CaseIterable { case sha256, sha512, sha1 }
    package enum Encoding: String, Sendable, CaseIterable { case hex, base64 }

    package var algorithm = Algorithm.sha256
    package var encoding = Encoding.hex
    /// The header for the signature.
    package var header: String
    /// The text before the signature, such as `sha256=`.
    package var prefix = ""
    /// The header for the time of signing, in seconds since 1970. The signature then covers the time, a dot and the
    /// body. nil: it covers only the body.
    package var timeHeader: String?
    /// Never shown.
    package var key: String

    package init(header: String, key: String) {
        self.header = header
        self.key = key
    }

    package func headers(
        signing request: UnsignedRequest, with credential: Credential?, at time: Int64
    ) -> [HTTPOptions.Header] {
        let seconds = "\(time / 1_000_000_000)"
        guard let timeHeader else { return [.init(name: header, value: prefix + signature(of: request.body))] }
        return [
            .init(name: timeHeader, value: seconds),
            .init(name: header, value: prefix + signature(of: Array("\(seconds).".utf8) + request.body)),
        ]
    }

    /// Every text is a valid key.
    package func check() {}

    private func signature(of text: [UInt8]) -> String {
        let method =
            switch algorithm {
            case .sha256: unsafe EVP_sha256()
            case .sha512: unsafe EVP_sha512()
            case .sha1: unsafe EVP_sha1()
            }
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let key = Array(self.key.utf8)
        let done = unsafe HMAC(method, key, Int32(clamping: key.count), text, text.count, &result, &length) != nil
        precondition(done, "libcrypto has no HMAC")
        let digest = result.prefix(Int(length))
        switch encoding {
        case .hex: return Hexadecimal.text(digest)
        case .base64: return Data(digest).base64EncodedString()
        }
    }
}
