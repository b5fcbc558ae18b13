/// A request that is ready but for its signature.
package struct UnsignedRequest {
    package var method: String
    /// As libcurl takes it.
    package var url: String
    /// As libcurl takes them: `Name: value`, or `Name;` without a value.
    package var headers: [String]
    /// As sent.
    package var body: [UInt8]

    package init(method: String = "POST", url: String, headers: [String] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// Signs requests. Any thread.
package protocol RequestSigner: Sendable {
    /// The headers to add.
    /// - Parameters:
    ///   - credential: what the destination's `CredentialProvider` has obtained; nil: it has no provider.
    ///   - time: now, in nanoseconds since 1970-01-01 UTC.
    func headers(
        signing request: UnsignedRequest, with credential: Credential?, at time: Int64
    ) throws -> [HTTPOptions.Header]

    /// Throws why it cannot sign. The error holds no part of the key.
    func check() throws

    /// The URL as it is sent, which a signature may be made of.
    /// - Parameter url: the configured one, in which control characters stand for values that are encoded already.
    func spelling(of url: String) -> String
}

extension RequestSigner {
    package func spelling(of url: String) -> String { url }
}
