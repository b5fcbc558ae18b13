import CCrypto

/// Computes SHA-256 (FIPS 180-4), or HMAC with it (RFC 2104), with OpenSSL's libcrypto. Hashing allocates nothing. Any
/// thread.
package final class Digest: Sendable {
    package static let length = 32
    private static let blockLength = 64

    /// The state before each text: empty, or after the inner key of RFC 2104.
    private let inner: SHA256_CTX
    /// For a keyed hash: the state after the outer key of RFC 2104.
    private let outer: SHA256_CTX?

    /// - Parameter key: the key of the HMAC. Nil: a plain hash.
    package init(key: [UInt8]?) {
        guard var key else {
            inner = Self.state(after: [])
            outer = nil
            return
        }
        if key.count > Self.blockLength {
            var state = Self.state(after: key)
            let hash = Self.end(&state)
            key = hash.indices.map { hash[$0] }
        }
        key += repeatElement(0, count: Self.blockLength - key.count)
        inner = Self.state(after: key.map { $0 ^ 0x36 })
        outer = Self.state(after: key.map { $0 ^ 0x5C })
    }

    /// Appends a text's hash as a JSON string of 64 hexadecimal digits.
    package func appendJSON(of text: Span<UInt8>, to output: inout [UInt8]) {
        let hash = hash(text)
        output.append(addingCapacity: 2 + 2 * Self.length) { output in
            output.append(UInt8(ascii: "\""))
            // Through a span: the compiler would reload an array of this length from registers for each byte.
            let bytes = hash.span
            for i in bytes.indices {
                output.append(Self.digits[Int(bytes[i] >> 4)])
                output.append(Self.digits[Int(bytes[i] & 15)])
            }
            output.append(UInt8(ascii: "\""))
        }
    }

    package func hash(_ text: Span<UInt8>) -> InlineArray<32, UInt8> {
        var state = inner
        Self.add(text, to: &state)
        let hash = Self.end(&state)
        guard var outer else { return hash }
        Self.add(hash.span, to: &outer)
        return Self.end(&outer)
    }

    private static func state(after bytes: [UInt8]) -> SHA256_CTX {
        var state = SHA256_CTX()
        precondition(unsafe SHA256_Init(&state) == 1, "libcrypto has no SHA-256")
        add(bytes.span, to: &state)
        return state
    }

    private static func add(_ bytes: Span<UInt8>, to state: inout SHA256_CTX) {
        let done = unsafe bytes.withUnsafeBufferPointer { unsafe SHA256_Update(&state, $0.baseAddress, $0.count) }
        precondition(done == 1, "libcrypto failed to hash")
    }

    private static func end(_ state: inout SHA256_CTX) -> InlineArray<32, UInt8> {
        var hash = InlineArray<32, UInt8>(repeating: 0)
        var bytes = hash.mutableSpan
        let done = unsafe bytes.withUnsafeMutableBufferPointer { unsafe SHA256_Final($0.baseAddress, &state) }
        precondition(done == 1, "libcrypto failed to hash")
        return hash
    }

    private static let digits: InlineArray<16, UInt8> = [
        0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66,
    ]
}
