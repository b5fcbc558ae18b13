import CCrypto
import Events

/// SHA-256 (FIPS 180-4), or HMAC with it (RFC 2104), by OpenSSL's libcrypto. One thread; hashing
/// allocates nothing.
@safe final class Digest {
    @safe private enum Algorithm {
        case hash(OpaquePointer)
        case keyed(OpaquePointer)
    }

    static let length = 32

    private let algorithm: Algorithm

    /// - Parameter key: nil: a plain hash.
    init(key: [UInt8]?) {
        if let key {
            guard let method = unsafe EVP_MAC_fetch(nil, "HMAC", nil), let context = unsafe EVP_MAC_CTX_new(method)
            else { preconditionFailure("libcrypto has no HMAC") }
            unsafe EVP_MAC_free(method)
            // An empty key is as good as none to HMAC, but a null pointer would mean "as before".
            let bytes = key.isEmpty ? [0] : key
            let ready = unsafe "SHA256".withCString { name in
                var parameters = unsafe [
                    OSSL_PARAM_construct_utf8_string("digest", UnsafeMutablePointer(mutating: name), 0),
                    OSSL_PARAM_construct_end(),
                ]
                return unsafe EVP_MAC_init(context, bytes, key.count, &parameters)
            }
            precondition(ready == 1, "libcrypto has no HMAC with SHA-256")
            algorithm = unsafe .keyed(context)
        } else {
            guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("no memory for a hash") }
            precondition(
                unsafe EVP_DigestInit_ex2(context, EVP_sha256(), nil) == 1, "libcrypto has no SHA-256")
            algorithm = unsafe .hash(context)
        }
    }

    deinit {
        switch algorithm {
        case .hash(let context): unsafe EVP_MD_CTX_free(context)
        case .keyed(let context): unsafe EVP_MAC_CTX_free(context)
        }
    }

    /// Appends the 64 digits of a text's hash as a JSON string.
    func appendJSON(of text: Span<UInt8>, to output: inout [UInt8]) {
        let hash = hash(text)
        output.append(addingCapacity: 2 + 2 * Self.length) { output in
            output.append(UInt8(ascii: "\""))
            for i in hash.indices {
                output.append(Self.digits[Int(hash[i] >> 4)])
                output.append(Self.digits[Int(hash[i] & 15)])
            }
            output.append(UInt8(ascii: "\""))
        }
    }

    private func hash(_ text: Span<UInt8>) -> InlineArray<32, UInt8> {
        var result = InlineArray<32, UInt8>(repeating: 0)
        var results = result.mutableSpan
        let done = unsafe text.withUnsafeBufferPointer { text in
            unsafe results.withUnsafeMutableBufferPointer { result in
                switch algorithm {
                case .hash(let context):
                    // With no type given, the context begins again with the one it has.
                    return unsafe EVP_DigestInit_ex2(context, nil, nil) == 1
                        && EVP_DigestUpdate(context, text.baseAddress, text.count) == 1
                        && EVP_DigestFinal_ex(context, result.baseAddress, nil) == 1
                case .keyed(let context):
                    var length = 0
                    return unsafe EVP_MAC_init(context, nil, 0, nil) == 1
                        && EVP_MAC_update(context, text.baseAddress, text.count) == 1
                        && EVP_MAC_final(context, result.baseAddress, &length, Self.length) == 1
                }
            }
        }
        precondition(done, "libcrypto failed to hash")
        return result
    }

    private static let digits: InlineArray<16, UInt8> = [
        0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66,
    ]
}
