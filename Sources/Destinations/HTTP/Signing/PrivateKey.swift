import CCrypto

/// A private key that signs with SHA-256. One thread at a time.
///
/// Unsafe part: libcrypto's key, which this object owns and frees.
@safe final class PrivateKey {
    enum Algorithm {
        /// ECDSA over P-256; signatures in ASN.1 (DER).
        case es256
        /// RSA of at least 2048 bits, with the padding of PKCS #1 version 1.5.
        case rs256

        fileprivate var type: Int32 { self == .es256 ? EVP_PKEY_EC : EVP_PKEY_RSA }
        fileprivate var command: String {
            self == .es256
                ? "openssl ecparam -name prime256v1 -genkey -noout" : "openssl genpkey -algorithm RSA"
        }
    }

    /// Why the key cannot sign. Holds no part of the key.
    struct KeyError: Error, CustomStringConvertible {
        let description: String
    }

    private let key: OpaquePointer

    init(pem: String, _ algorithm: Algorithm) throws(KeyError) {
        let pem = Array(pem.utf8)
        guard let source = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { throw Self.noMemory }
        defer { unsafe BIO_free(source) }
        // The empty passphrase keeps libcrypto from asking for one on the terminal.
        var passphrase: [CChar] = [0]
        guard let key = unsafe PEM_read_bio_PrivateKey(source, nil, nil, &passphrase) else {
            ERR_clear_error()
            throw KeyError(
                description: "the private key is not PEM, or needs a passphrase; make one with: \(algorithm.command)")
        }
        unsafe self.key = key
        let bits = unsafe EVP_PKEY_get_bits(key)
        guard unsafe EVP_PKEY_get_base_id(key) == algorithm.type,
            algorithm == .es256 ? bits == 256 : (2048...16_384).contains(bits)
        else {
            let kind = algorithm == .es256 ? "on the curve P-256" : "of RSA with at least 2048 bits"
            throw KeyError(description: "the private key is not \(kind); make one with: \(algorithm.command)")
        }
    }

    deinit { unsafe EVP_PKEY_free(key) }

    func signature(of text: [UInt8]) throws(KeyError) -> [UInt8] {
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
