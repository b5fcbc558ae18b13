/// What an HTTP destination is told: where to send, and how.
package struct HTTPOptions: Sendable {
    /// In the text of a URL or a header: the place of a value of the event, the next one of its envelope's.
    package static let place: Character = "\u{0}"
    /// In an envelope's body: the place of the events.
    package static let eventsMark: UInt8 = 1

    /// How a batch becomes requests.
    package enum Format: String, Sendable, CaseIterable {
        /// One request; one event a line.
        case ndjson
        /// One request; each event is a list, and each of its items a line.
        case lines
        /// One request; a JSON array.
        case array
        /// One request an event.
        case single
    }

    package enum Method: String, Sendable, CaseIterable { case POST, PUT, PATCH }

    /// Of the request's body; the names are Content-Encoding's.
    package enum Compression: String, Sendable, CaseIterable { case none, gzip, zstd }

    package struct Header: Sendable, Equatable {
        package var name: String
        /// May hold a secret: never shown.
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// How a service proves who it is, which it always has to, and how Penstock does.
    package struct TLS: Sendable, Equatable {
        package enum Version: Sendable { case v1_2, v1_3 }

        /// PEM file with the certificate authorities to trust, instead of the system's.
        package var caFile: String?
        /// PEM files of a client's certificate, with its chain, and of its key.
        package var certificateFile: String?
        package var keyFile: String?
        package var minimumVersion = Version.v1_2
        /// The name that the certificate has to be for and that is asked for (SNI), where that is
        /// not the URL's host.
        package var serverName: String?

        package init() {}
    }

    /// `http://` or `https://`; or `unix:/run/receiver.sock`, `unix:/run/receiver.sock:/v1/events`:
    /// HTTP over a Unix socket, with the request's path behind the second colon.
    package var url: String
    package var method: Method = .POST
    package var format: Format = .array
    package var headers: [Header] = []
    package var compression = Compression.none
    package var tls = TLS()
    /// `http://`, `https://`, `socks5://` (names resolved here) or `socks5h://` (there); may hold a user
    /// and password. nil: no proxy, whatever the environment says.
    package var proxy: String?
    /// Hosts, domains and networks (`10.0.0.0/8`) that are reached without it.
    package var proxyExceptions: [String] = []
    /// Until the connection stands, TLS included.
    package var connectTimeout: Duration = .seconds(10)
    /// For one request, from its start to the last byte of the answer.
    package var timeout: Duration = .seconds(30)
    /// Requests under way at once. With `ndjson` and `array`, batches; with `single`, events. Between
    /// the bounds it is as many as the service bears.
    package var requests = 4...4
    /// Bytes of an answer's body that are read; behind them, the connection is closed.
    package var maximumAnswer = 64 << 10
    /// How answers are read; what none of them meets, by `HTTPAnswer`'s table.
    package var answers: [AnswerRule] = []
    /// Redirects (301, 302, 307, 308) followed for one request, with method and body kept, never to
    /// another scheme. Another host than the URL's is told nothing that the headers or the URL
    /// hold, and shown no client certificate. 0: none.
    package var maximumRedirects = 0
    /// What must not be seen in an excerpt of an answer, besides the headers' values and what the URL
    /// holds.
    package var secrets: [String] = []
    /// The events' envelopes say what goes around them in the body.
    package var hasBody = false
    /// That is not the same for every event.
    package var bodyVaries = false
    /// Whether the service would take an event; nil: it is to find out itself.
    package var check: (any OutputCheck)?
    /// Proves to the service who sends; nil: nothing but the headers does.
    package var signer: (any RequestSigner)?
    /// Where there are several requests to choose from: each of them, and the events' envelopes say which. What
    /// is not about a single request is read from here, not from there. Empty: there is this one.
    package var alternatives: [HTTPOptions] = []
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

/// Whether a service would take what is to be sent to it. Any thread.
package protocol OutputCheck: Sendable {
    /// - Parameters:
    ///   - json: one event as it would be sent.
    ///   - time: now, in nanoseconds since 1970-01-01 UTC.
    /// - Returns: which limit it breaks and what is expected; nil: none.
    func problem(with json: Span<UInt8>, at time: Int64) -> String?
}

/// Signs requests. Any thread.
package protocol RequestSigner: Sendable {
    /// The headers to add.
    /// - Parameters:
    ///   - body: as it is sent.
    ///   - path: the URL's path.
    ///   - time: now, in nanoseconds since 1970-01-01 UTC.
    func headers(signing body: [UInt8], path: String, at time: Int64) throws -> [HTTPOptions.Header]

    /// Throws why it can sign nothing; that holds nothing of the key.
    func check() throws
}
