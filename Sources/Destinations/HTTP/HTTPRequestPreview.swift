import Delivery

/// A request as it would be sent, for whoever wants to see it beforehand. Made of the same parts as
/// the real one; what libcurl adds by itself (Host, Content-Length) is not in it.
package struct HTTPRequestPreview: Sendable, Equatable {
    package var method: String
    /// As configured; may hold what is secret.
    package var url: String
    /// In the order in which they are sent; may hold what is secret.
    package var headers: [HTTPOptions.Header]
    /// Before compression.
    package var body: [UInt8]

    /// The requests that a batch would take. Touches neither network nor disk.
    /// - Throws: what is wrong with which option.
    package static func requests(
        for batch: OutboundBatch, _ options: HTTPOptions
    ) throws(HTTPOptionsError) -> [HTTPRequestPreview] {
        let request = try HTTPRequest(options)
        guard !batch.events.isEmpty else { return [] }
        let headers = [HTTPOptions.Header(name: "User-Agent", value: request.userAgent)] + request.headerLines.compactMap(header)
        return (0..<batch.requests(options.format)).map {
            HTTPRequestPreview(
                method: options.method.rawValue, url: options.url, headers: headers, body: batch.body(of: $0, options.format))
        }
    }

    /// Reads libcurl's spelling: `Name: value`, `Name;` without a value, `Name:` for one that is not sent.
    private static func header(_ line: String) -> HTTPOptions.Header? {
        if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return value.isEmpty ? nil : .init(name: String(line[..<colon]), value: String(value))
        }
        return .init(name: String(line.prefix { $0 != ";" }), value: "")
    }
}
