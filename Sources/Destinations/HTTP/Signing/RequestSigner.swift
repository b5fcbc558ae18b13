/// Signs requests. Any thread.
package protocol RequestSigner: Sendable {
    /// The headers to add.
    /// - Parameters:
    ///   - body: as sent.
    ///   - path: the URL's path.
    ///   - time: now, in nanoseconds since 1970-01-01 UTC.
    func headers(signing body: [UInt8], path: String, at time: Int64) throws -> [HTTPOptions.Header]

    /// Throws why it cannot sign. The error holds no part of the key.
    func check() throws
}
