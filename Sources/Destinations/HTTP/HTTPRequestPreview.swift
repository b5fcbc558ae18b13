import Delivery

/// A request as it would be sent, for whoever wants to see it beforehand. Made of the same parts as
/// the real one; what libcurl adds by itself (Host, Content-Length) is not in it.
package struct HTTPRequestPreview: Sendable, Equatable {
    package var method: String
    /// As configured, without user and password, which go into a header; may hold what is secret.
    package var url: String
    /// In the order in which they are sent; may hold what is secret.
    package var headers: [HTTPOptions.Header]
    /// `user:password`, of which the header Authorization is made; nil: not of these.
    package var credentials: String?
    /// Before compression.
    package var body: [UInt8]

    /// The requests that a batch would take. Touches neither network nor disk.
    /// - Parameter time: when they would be sent, in nanoseconds since 1970-01-01 UTC.
    /// - Returns: also, by its place in the batch, each event that would not be sent and why.
    /// - Throws: what is wrong with which option.
    package static func requests(
        for batch: OutboundBatch, _ options: HTTPOptions, at time: Int64
    ) throws(HTTPOptionsError) -> (requests: [HTTPRequestPreview], refused: [Int: String]) {
        let kinds = try HTTPRequest.all(options)
        guard !batch.events.isEmpty else { return ([], [:]) }
        let plan = RequestPlan(batch, kinds, at: time)
        let requests = plan.requests.enumerated().map { number, planned in
            let kind = kinds[planned.number]
            let body = plan.body(of: number)
            // A key that is not at hand signs nothing.
            let signature = (try? kind.signature(of: body, url: planned.url, at: time)) ?? []
            var headers = [HTTPOptions.Header(name: "User-Agent", value: kind.userAgent)]
                + (planned.headers + signature).compactMap(header)
            // As libcurl does it, for which a configured header counts more.
            var credentials = CurlURL(planned.url)?.credentials
            if headers.contains(where: { $0.name.lowercased() == "authorization" }) { credentials = nil }
            if let credentials { headers.insert(.init(name: "Authorization", value: "Basic \(Base64.encode(credentials))"), at: 0) }
            return HTTPRequestPreview(
                method: kind.method.rawValue, url: withoutCredentials(kind.shownURL(planned.url)), headers: headers,
                credentials: credentials.map { String(decoding: $0, as: UTF8.self) }, body: body)
        }
        return (requests, plan.refused)
    }

    /// Which of the destination's requests an event of a batch asks for.
    package static func number(of event: OutboundEvent, in batch: OutboundBatch) -> Int {
        guard event.envelope > 0 else { return 0 }
        return RequestEnvelope(batch.payload, event.payload.lowerBound - event.envelope..<event.payload.lowerBound)?.number ?? 0
    }

    private static func withoutCredentials(_ url: String) -> String {
        guard !url.hasPrefix("unix:"), let start = url.firstRange(of: "://")?.upperBound else { return url }
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return url }
        return String(url[..<start] + url[url.index(after: at)...])
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
