import CCrypto
import Events

/// Signs a request's body with a key that the receiver knows as well: HMAC (RFC 2104) in a header, as
/// webhooks do it. Immutable; any thread.
///
/// What is unsafe here: libcrypto's one-shot call, which reads and writes what it is given and keeps nothing.
@safe package struct HMACSigner: RequestSigner {
    package enum Algorithm: String, Sendable, CaseIterable { case sha256, sha512, sha1 }
    package enum Encoding: String, Sendable, CaseIterable { case hex, base64 }

    package var algorithm = Algorithm.sha256
    package var encoding = Encoding.hex
    /// The header that the signature goes into.
    package var header: String
    /// What stands before the signature: `sha256=`.
    package var prefix = ""
    /// The header that the time of signing goes into, in seconds since 1970, and which is signed before the
    /// body with a dot between them; nil: the body alone is signed.
    package var timeHeader: String?
    /// Never shown.
    package var key: String

    package init(header: String, key: String) {
        self.header = header
        self.key = key
    }

    package func headers(signing body: [UInt8], path: String, at time: Int64) throws -> [HTTPOptions.Header] {
        let seconds = "\(time / 1_000_000_000)"
        guard let timeHeader else { return [.init(name: header, value: prefix + signature(of: body))] }
        return [
            .init(name: timeHeader, value: seconds),
            .init(name: header, value: prefix + signature(of: Array(seconds.utf8) + [UInt8(ascii: ".")] + body)),
        ]
    }

    /// Any text is a key.
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
        case .hex: return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .base64: return Base64.encode(Array(digest))
        }
    }
}
