import Delivery

/// What a service answered, and what that means for the events that were sent: the rule for
/// services of which nothing more is known (webhooks). Pure.
package struct HTTPAnswer: Sendable, Equatable {
    package var status: Int
    /// The headers of these names, as received.
    package var retryAfter: String?
    package var location: String?
    /// Its beginning, as far as it was read.
    package var body: [UInt8]

    /// Characters of an answer that are kept to show somebody.
    package static let excerptLength = 200

    static let credentialHint = ": the service refuses the credential; check the destination's headers and secrets"

    package init(status: Int, retryAfter: String? = nil, location: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.location = location
        self.body = body
    }

    /// - Parameters:
    ///   - wallClock: nanoseconds since 1970-01-01 UTC, for dates in Retry-After.
    ///   - secrets: what must not be seen in an excerpt, should the service echo it.
    package func outcome(wallClock: Int64, hiding secrets: [[UInt8]] = []) -> Outcome {
        switch status {
        case 200...299:
            return .delivered
        case 401, 403:
            return .hold(reason: "HTTP \(status)" + Self.credentialHint, answer: excerpt(hiding: secrets))
        case 413:
            return .tooLarge(
                reason: "HTTP 413: the service takes no requests of this size", answer: excerpt(hiding: secrets))
        case 501:
            return .rejected(reason: "HTTP 501", answer: excerpt(hiding: secrets))
        case 408, 423, 425, 429, 500...599, ..<200:
            let wait = retryAfter.flatMap { RetryAfter.parse($0, wallClock: wallClock) }
            return .retry(
                reason: "HTTP \(status)" + (wait.map { ", asked to wait \($0.components.seconds) s" } ?? ""), after: wait,
                answer: excerpt(hiding: secrets))
        case 300...399:
            return .rejected(reason: redirectReason, answer: excerpt(hiding: secrets))
        default:
            return .rejected(reason: "HTTP \(status)", answer: excerpt(hiding: secrets))
        }
    }

    /// Whether other requests to the service are likely to fare no better now: it asked for
    /// patience or refuses everybody, which says nothing about the one event sent.
    package var concernsService: Bool {
        switch status {
        case 401, 403, 429, 502...504: true
        default: false
        }
    }

    private var redirectReason: String {
        // Only the host: paths and queries of redirects carry tokens.
        let to = location.flatMap { CurlURL($0) }.map { " to \($0.scheme)://\($0.host)" } ?? ""
        return "HTTP \(status): a redirect\(to), not followed; set the destination's URL to where it leads"
    }

    /// The answer's beginning as one printable line, secrets replaced.
    package func excerpt(hiding secrets: [[UInt8]]) -> String {
        // Read on far enough that no secret is cut in two before it is looked for. At most four bytes
        // make a character that is kept.
        let longest = secrets.reduce(0) { max($0, $1.count) }
        var bytes = Array(body.prefix(Self.excerptLength * 4 + longest))
        // Longest first: one secret may be a part of another.
        for secret in secrets.sorted(by: { $0.count > $1.count }) where !secret.isEmpty {
            bytes.replace(secret, with: Array("[hidden]".utf8))
        }
        return Printable.line(String(decoding: bytes, as: UTF8.self), limit: Self.excerptLength)
    }
}
