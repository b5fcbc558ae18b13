import Delivery

/// A service's response, and its default meaning for the events sent: the rule for services without their own rules
/// (webhooks). Pure.
package struct HTTPResponse: Sendable, Equatable {
    package var status: Int
    /// The headers Retry-After and Location, as received.
    package var retryAfter: String?
    package var location: String?
    /// The beginning of the body, as far as it was read.
    package var body: [UInt8]

    /// The most characters of a response that are kept for display.
    package static let excerptLength = 200

    static let credentialHint = ": the service rejects the credential; check the destination's headers and secrets"
    /// For an answer that a rule takes for an operator's matter, whatever its cause is.
    static let settingsHint = ": the service refuses the requests; check the destination's settings and its credential"

    package init(status: Int, retryAfter: String? = nil, location: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.location = location
        self.body = body
    }

    /// - Parameters:
    ///   - wallClock: nanoseconds since 1970-01-01 UTC, for dates in Retry-After.
    ///   - secrets: text that an excerpt must not show, even if the service echoes it.
    package func outcome(wallClock: Int64, hiding secrets: [[UInt8]] = []) -> Outcome {
        switch status {
        case 200...299:
            return .delivered
        case 401, 403:
            return .hold(reason: "HTTP \(status)" + Self.credentialHint, answer: excerpt(hiding: secrets))
        case 400:
            // One invalid event may be the reason why all are refused.
            return .someRejected(reason: "HTTP 400", answer: excerpt(hiding: secrets))
        case 413:
            return .tooLarge(
                reason: "HTTP 413: the request is too large for the service", answer: excerpt(hiding: secrets))
        case 501:
            return .rejected(reason: "HTTP 501", answer: excerpt(hiding: secrets))
        case 408, 423, 425, 429, 500...599, ..<200:
            let wait = retryAfter.flatMap { RetryAfter.parse($0, wallClock: wallClock) }
            return .retry(
                reason: "HTTP \(status)" + (wait.map { ", asked to wait \($0.components.seconds) s" } ?? ""),
                after: wait,
                answer: excerpt(hiding: secrets))
        case 300...399:
            return .rejected(reason: redirectReason, answer: excerpt(hiding: secrets))
        default:
            return .rejected(reason: "HTTP \(status)", answer: excerpt(hiding: secrets))
        }
    }

    /// True if other requests to the service are likely to fail too: it asked the client to wait, or rejects all
    /// requests. Such a response says nothing about the one event sent.
    package var concernsService: Bool {
        switch status {
        case 401, 403, 429, 502...504: true
        default: false
        }
    }

    /// Whether another credential might have been accepted. AWS answers 400 for one that has ended.
    var refusesCredential: Bool {
        status == 401 || status == 403 || status == 400 && body.contains(Array("ExpiredToken".utf8))
    }

    private var redirectReason: String {
        // Only the host: paths and queries of redirects hold tokens.
        let to = location.flatMap { CurlURL($0) }.map { " to \($0.scheme)://\($0.host)" } ?? ""
        return "HTTP \(status): a redirect\(to), not followed; set the destination's URL to the redirect's target"
    }

    /// The beginning of the body as one printable line, with secrets replaced.
    package func excerpt(hiding secrets: [[UInt8]]) -> String {
        // Take enough bytes that no secret is cut in two before it is searched for. A character takes at most four
        // bytes.
        let longest = secrets.reduce(0) { max($0, $1.count) }
        var bytes = Array(body.prefix(Self.excerptLength * 4 + longest))
        // Longest first: one secret may be a part of another.
        for secret in secrets.sorted(by: { $0.count > $1.count }) where !secret.isEmpty {
            bytes.replace(secret, with: Array("[hidden]".utf8))
        }
        return Printable.line(String(decoding: bytes, as: UTF8.self), limit: Self.excerptLength)
    }
}
