import RequestBodies

/// Who may use the HTTP API of a source, and how much of it.
package struct HTTPAccess: Sendable, Equatable {
    package struct Limits: Sendable, Equatable {
        /// Bytes of a request's target and header fields (`max_request_head`).
        package var maximumHead = 16 << 10
        /// Bytes of a request's body, after decompression (`max_batch_size`).
        package var maximumBody = 500 << 10
        /// Events in a request (`max_batch_events`).
        package var maximumEvents = 2_500
        /// How many times larger than its compressed form a body may be (`max_decompression_ratio`).
        package var maximumRatio = 100
        /// How long a request may wait for room in the journal (`max_wait`).
        package var maximumWait = Duration.seconds(10)

        package init() {}
    }

    /// Which pages' scripts may send events: the Origin of their requests (RFC 6454), as sent. Nil: all.
    package var allowedOrigins: Set<String>? = []
    /// The write keys that clients may use.
    package var writeKeys: [[UInt8]] = []
    /// Whether a client that sends no write key is refused. Without it, the socket's permissions decide who may send.
    package var requiresWriteKey = false
    /// Whether the connection is encrypted.
    package var isEncrypted = false
    /// Whether the listener is no longer configured. Clients that are still connected are sent away.
    package var isWithdrawn = false
    package var limits = Limits()

    package init() {}

    func allows(origin: [UInt8]) -> Bool {
        guard let allowedOrigins else { return true }
        return allowedOrigins.contains(String(decoding: origin, as: UTF8.self))
    }

    /// What a request's write key is worth.
    /// - Parameter key: nil: the request has none.
    func accepts(_ key: [UInt8]?) -> Bool {
        guard let key else { return !requiresWriteKey }
        // Nothing to compare with: any key is as good as none.
        if writeKeys.isEmpty { return !requiresWriteKey }
        var isKnown = false
        // All of them, and each to its end: the time of the answer tells nothing about how much of a key was right.
        for known in writeKeys where Self.areEqual(known, key) { isKnown = true }
        return isKnown
    }

    /// An accepted key, if it is one of the configured ones. Without those, a client could invent a new one each time.
    func known(_ key: [UInt8]?) -> [UInt8]? { writeKeys.isEmpty ? nil : key }

    /// Compares in a time that depends on the length of `known` alone.
    private static func areEqual(_ known: [UInt8], _ given: [UInt8]) -> Bool {
        var difference = known.count ^ given.count
        for index in known.indices {
            difference |= Int(known[index] ^ (index < given.count ? given[index] : ~known[index]))
        }
        return difference == 0
    }

    /// The write key of an Authorization field: the user of `Basic` credentials (RFC 7617), whose password Segment's
    /// SDKs leave empty, or a `Bearer` token (RFC 6750).
    /// - Returns: nil: the field has other credentials.
    static func writeKey(authorization: [UInt8]) -> [UInt8]? {
        let parts = authorization.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let value = HTTPText.trimmed(parts[1])
        switch String(decoding: parts[0].map(HTTPText.lowercased), as: UTF8.self) {
        case "bearer": return Array(value)
        case "basic":
            var credentials: [UInt8] = []
            guard Base64.decode(value.span, to: &credentials),
                let colon = credentials.firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            return Array(credentials[..<colon])
        default: return nil
        }
    }
}
