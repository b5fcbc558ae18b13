/// What an HTTP destination is told: where to send, and how.
package struct HTTPOptions: Sendable, Equatable {
    /// How a batch becomes requests.
    package enum Format: String, Sendable, CaseIterable {
        /// One request; one event a line.
        case ndjson
        /// One request; a JSON array.
        case array
        /// One request an event.
        case single
    }

    package enum Method: String, Sendable, CaseIterable { case POST, PUT, PATCH }

    package struct Header: Sendable, Equatable {
        package var name: String
        /// May hold a secret: never shown.
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// `http://` or `https://`; or `unix:/run/receiver.sock`, `unix:/run/receiver.sock:/v1/events`:
    /// HTTP over a Unix socket, with the request's path behind the second colon.
    package var url: String
    package var method: Method = .POST
    package var format: Format = .array
    package var headers: [Header] = []
    package var gzip = false
    /// Until the connection stands, TLS included.
    package var connectTimeout: Duration = .seconds(10)
    /// For the whole request, from its start to the last byte of the answer.
    package var timeout: Duration = .seconds(30)
    /// Requests under way at once. With `ndjson` and `array`, batches; with `single`, events.
    package var maximumRequests = 4
    /// Bytes of an answer's body that are read; behind them, the connection is closed.
    package var maximumAnswer = 64 << 10
    /// Redirects followed, with method and body kept. 0: none. Only `Authorization` and `Cookie`
    /// are held back from another host than the URL's own, so allow none that you do not trust
    /// with the other headers.
    package var maximumRedirects = 0
    /// PEM file with the certificate authorities to trust, instead of the system's.
    package var caFile: String?
    /// Penstock's own, for User-Agent.
    package var version: String

    package init(url: String, version: String) {
        self.url = url
        self.version = version
    }
}

/// An option that cannot be used: which one and why. Never holds a header's value or more of a
/// URL than its scheme and host.
package struct HTTPOptionsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The configuration's name for it: `http`, `headers.X-Key`.
    package var option: String
    package var problem: String

    package var description: String { "\(option): \(problem)" }
}
