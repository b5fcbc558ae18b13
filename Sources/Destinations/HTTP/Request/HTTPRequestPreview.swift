import Delivery
import Foundation

/// A preview of a request, built from the same parts as the real one. It leaves out the headers that libcurl adds by
/// itself (Host, Content-Length).
package struct HTTPRequestPreview: Sendable, Equatable {
    package var method: String
    /// As configured, without user and password, which are sent in a header. May hold secrets.
    package var url: String
    /// In the order sent. May hold secrets.
    package var headers: [HTTPOptions.Header]
    /// `user:password`, from which the Authorization header is made; nil: the header is not made from these.
    package var credentials: String?
    /// Before compression.
    package var body: [UInt8]

    /// The requests that a batch would take. Uses neither network nor disk.
    /// - Parameter time: when they would be sent, in nanoseconds since 1970-01-01 UTC.
    /// - Returns: the requests, and the reason for each event that would not be sent, by its index in the batch.
    /// - Throws: the option that is invalid, and why.
    package static func requests(
        for batch: OutboundBatch, _ options: HTTPOptions, at time: Int64
    ) throws(HTTPOptionsError) -> (requests: [HTTPRequestPreview], refused: [Int: String]) {
        let kinds = try HTTPRequest.all(options)
        guard !batch.events.isEmpty else { return ([], [:]) }
        let plan = RequestPlan(batch, kinds, at: time)
        let requests = plan.requests.enumerated().map { number, planned in
            let kind = kinds[planned.number]
            let body = kind.method.hasBody ? plan.body(of: number) : []
            // Without a usable key, the preview has no signature.
            let signature =
                (try? kind.signature(
                    of: body, url: planned.url, headers: planned.headers, options.credentials?.standIn, at: time)) ?? []
            var headers = (planned.headers + signature).compactMap(header)
            // A configured header takes precedence, in libcurl as well.
            if !headers.contains(where: { $0.name.lowercased() == "user-agent" }) {
                headers.insert(.init(name: "User-Agent", value: kind.userAgent), at: 0)
            }
            // libcurl does the same: a configured Authorization header takes precedence.
            var credentials = CurlURL(planned.url)?.credentials
            if headers.contains(where: { $0.name.lowercased() == "authorization" }) { credentials = nil }
            if let credentials {
                headers.insert(
                    .init(name: "Authorization", value: "Basic \(Data(credentials).base64EncodedString())"), at: 0)
            }
            return HTTPRequestPreview(
                method: kind.method.rawValue, url: withoutCredentials(kind.shownURL(planned.url)), headers: headers,
                credentials: credentials.map { String(decoding: $0, as: UTF8.self) }, body: body)
        }
        return (requests, plan.refused)
    }

    /// The kind of request that an event of a batch asks for.
    package static func number(of event: OutboundEvent, in batch: OutboundBatch) -> Int {
        guard event.envelope > 0 else { return 0 }
        return RequestEnvelope(batch.payload, event.payload.lowerBound - event.envelope..<event.payload.lowerBound)?
            .number ?? 0
    }

    private static func withoutCredentials(_ url: String) -> String {
        guard !url.hasPrefix("unix:"), let start = url.firstRange(of: "://")?.upperBound else { return url }
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return url }
        return String(url[..<start] + url[url.index(after: at)...])
    }

    /// Parses libcurl's notation: `Name: value`, `Name;` without a value, `Name:` for a header that is not sent.
    private static func header(_ line: String) -> HTTPOptions.Header? {
        if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return value.isEmpty ? nil : .init(name: String(line[..<colon]), value: String(value))
        }
        return .init(name: String(line.prefix { $0 != ";" }), value: "")
    }
}
