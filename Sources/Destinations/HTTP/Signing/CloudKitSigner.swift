import CCrypto
import Events
import Foundation
import Hashing

/// Signs a request as CloudKit requires of a server: ES256 (ECDSA over P-256 with SHA-256) of the time, the body's hash
/// and the path. Immutable; any thread.
///
/// Unsafe part: libcrypto's objects, none of which outlives the call that made it.
@safe package struct CloudKitSigner: RequestSigner {
    /// Why the key cannot sign. Holds no part of the key.
    package struct KeyError: Error, CustomStringConvertible {
        package let description: String
    }

    /// The key's id in CloudKit.
    package var keyID: String
    /// The private key in PEM. Never shown.
    package var key: String

    package init(keyID: String, key: String) {
        self.keyID = keyID
        self.key = key
    }

    package func headers(signing body: [UInt8], path: String, at time: Int64) throws -> [HTTPOptions.Header] {
        // CloudKit accepts only a time without a fraction.
        let date = String(Timestamp.format(time - time % 1_000_000_000).prefix(19)) + "Z"
        let hash = Digest(key: nil).hash(body.span)
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
    private func signature(of text: [UInt8]) throws -> [UInt8] {
        let pem = Array(key.utf8)
        guard let source = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { throw Self.noMemory }
        defer { unsafe BIO_free(source) }
        // The empty passphrase keeps libcrypto from asking for one on the terminal.
        var passphrase: [CChar] = [0]
        guard let key = unsafe PEM_read_bio_PrivateKey(source, nil, nil, &passphrase) else {
            ERR_clear_error()
            throw KeyError(
                description: "the private key is not PEM, or needs a passphrase; "
                    + "make one with: openssl ecparam -name prime256v1 -genkey -noout")
        }
        defer { unsafe EVP_PKEY_free(key) }
        guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC, unsafe EVP_PKEY_get_bits(key) == 256 else {
            throw KeyError(
                description: "the private key is not on the curve P-256; "
                    + "make one with: openssl ecparam -name prime256v1 -genkey -noout")
        }
        guard let context = unsafe EVP_MD_CTX_new() else { throw Self.noMemory }
        defer { unsafe EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: Int(unsafe EVP_PKEY_get_size(key)))
        var length = signature.count
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, &signature, &length, text, text.count) == 1
        else {
            ERR_clear_error()
            throw KeyError(description: "libcrypto cannot sign with the private key")
        }
        return Array(signature.prefix(length))
    }

    private static var noMemory: KeyError { KeyError(description: "out of memory for a signature") }
}
