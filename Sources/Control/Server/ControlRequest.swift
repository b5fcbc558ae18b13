import Platform

/// A client's request to the daemon.
package struct ControlRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    package var method: Method
    /// Percent-decoded, without the query: `/status`.
    package var path: String
    /// Percent-decoded. If a name occurs twice, the last value counts.
    package var query: [String: String]
    /// At most `ControlServer.Limits.body` bytes.
    package var body: [UInt8]
    /// The header fields by their names in lower case. The values of a repeated field are joined with commas.
    package var fields: [String: String]

    package init(
        method: Method, path: String, query: [String: String] = [:], body: [UInt8] = [], fields: [String: String] = [:]
    ) {
        self.fields = fields
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }

    /// - Parameter target: the target in the request line: `/tap?where=type%20%3D%20%22track%22`.
    /// - Returns: nil if it is not a path with an optional query.
    init?(method: Method, target: String, body: [UInt8], fields: [String: String] = [:]) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, first.hasPrefix("/"), let path = Self.decoded(first) else { return nil }
        var query: [String: String] = [:]
        for pair in parts.count == 2 ? parts[1].split(separator: "&") : [] {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(sides[0]), let value = Self.decoded(sides.count == 2 ? sides[1] : "") else {
                return nil
            }
            query[name] = value
        }
        self.init(method: method, path: path, query: query, body: body, fields: fields)
    }

    /// The target for the request line, from a path and a query.
    package static func target(_ path: String, query: [String: String] = [:]) -> String {
        guard !query.isEmpty else { return encoded(path) }
        return encoded(path) + "?"
            + query.sorted { $0.key < $1.key }.map { encoded($0) + "=" + encoded($1) }.joined(separator: "&")
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Percent-encodes everything except RFC 3986's unreserved characters and `/`.
    private static func encoded(_ text: String) -> String {
        PercentEncoding.encode(text.utf8) { PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "/") }
    }
}

/// Carries out requests for the daemon.
package protocol ControlHandler: Sendable {
    /// Answers through `reply`, now or later, from any thread. Called on an event loop that also serves connections, so
    /// it must not block.
    func handle(_ request: ControlRequest, reply: ControlReply)
}
