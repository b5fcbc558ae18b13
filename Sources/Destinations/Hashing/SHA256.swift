import CCrypto

/// SHA-256 (FIPS 180-4) of few bytes, now and then; on the hot path Routing's `Digest` does it.
enum SHA256 {
    /// - Returns: 32 bytes.
    static func hash(_ bytes: Span<UInt8>) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let done = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, EVP_sha256(), nil) == 1
        }
        precondition(done, "libcrypto failed to hash")
        return digest
    }
}
