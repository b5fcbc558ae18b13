/// The options of an HTTP destination: where to send, and how.
package struct HTTPOptions: Sendable {
    /// The placeholder for a value of the event in the text of a URL or a header. The event's envelope holds the values
    /// in order.
    package static let place: Character = "\u{0}"
    /// The placeholder for a value of the batch in the text of a URL or a header; `batchValues` names them in order.
    package static let batchPlace: Character = "\u{1}"
    /// The placeholder for the events in an envelope's body.
    package static let eventsMark: UInt8 = 1

    /// How a batch becomes requests.
    package enum Format: String, Sendable, CaseIterable {
        /// One request, with one event per line.
        case ndjson
        /// One request. Each event is a list, and each item of the list is a line.
        case lines
        /// One request with a JSON array.
        case array
        /// One request per event.
        case single
        /// One request of text. Each event is a JSON string, whose text is a line.
        case text
        /// One request per event. Each event is an object, whose members are the fields of a form.
        case form
        /// One request per event. Each event is an object, whose only member is the root element.
        case xml

        package var isOnePerRequest: Bool { self == .single || self == .form || self == .xml }

        /// Whether some events cannot be written in the format.
        var mayRefuse: Bool { self == .text || self == .xml }

        var contentType: String {
            switch self {
            case .array, .single: "application/json"
            case .ndjson, .lines: "application/x-ndjson"
            case .text: "text/plain; charset=utf-8"
            case .form: "application/x-www-form-urlencoded"
            case .xml: "application/xml"
            }
        }
    }

    package enum Method: String, Sendable, CaseIterable {
        case POST, PUT, PATCH, GET, DELETE

        /// Without a body, the event can only be in the URL and the headers.
        package var hasBody: Bool { self != .GET && self != .DELETE }
    }

    /// Compression of the request body. The names are those of Content-Encoding.
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

    /// How the service proves its identity, which is always required, and how Penstock proves its own.
    package struct TLS: Sendable, Equatable {
        package enum Version: Sendable { case v1_2, v1_3 }

        /// PEM file with the certificate authorities to trust, instead of the system's.
        package var caFile: String?
        /// PEM files with the client's certificate chain and its key.
        package var certificateFile: String?
        package var keyFile: String?
        package var minimumVersion = Version.v1_2
        /// The name that the certificate must be valid for and that SNI asks for, if it is not the URL's host.
        package var serverName: String?

        package init() {}
    }

    /// `http://` or `https://`; or `unix:/run/receiver.sock`, `unix:/run/receiver.sock:/v1/events`: HTTP over a Unix
    /// socket, with the request's path after the second colon.
    package var url: String
    package var method: Method = .POST
    package var format: Format = .array
    package var headers: [Header] = []
    package var compression = Compression.none
    package var tls = TLS()
    /// `http://`, `https://`, `socks5://` (names resolved locally) or `socks5h://` (resolved by the proxy). May hold a
    /// user and password. nil: no proxy, whatever the environment says.
    package var proxy: String?
    /// Hosts, domains and networks (`10.0.0.0/8`) that are reached without the proxy.
    package var proxyExceptions: [String] = []
    /// Until the connection is established, TLS included.
    package var connectTimeout: Duration = .seconds(10)
    /// For one request, from its start to the last byte of the response.
    package var timeout: Duration = .seconds(30)
    /// Limits on requests in flight: batches with `ndjson` and `array`, events with `single`. Between the bounds, the
    /// limit follows what the service can handle.
    package var requests = 4...4
    /// The most bytes of a response body to read. After them, the connection is closed.
    package var maximumResponseBody = 64 << 10
    /// Rules that read responses. A response that matches none is read by `HTTPResponse`'s table.
    package var responseRules: [ResponseRule] = []
    /// The most redirects (301, 302, 307, 308) to follow for one request; 0: none. Method and body are kept, and a
    /// redirect to another scheme is never followed. Another host than the URL's receives nothing from the configured
    /// headers or URL, and no client certificate.
    package var maximumRedirects = 0
    /// Further text that an excerpt of a response must not show, besides header values and parts of the URL.
    package var secrets: [String] = []
    /// The destination's name, for values of the batch.
    package var destination = ""
    /// The batch's values in the URL, then those in the headers.
    package var batchValues: [BatchValue] = []
    /// The events' envelopes hold the text around the events in the body.
    package var hasBody = false
    /// The text around the events differs between events.
    package var bodyVaries = false
    /// Checks whether the service would accept an event; nil: leave that to the service.
    package var check: (any OutputCheck)?
    /// Checks the text around the events of a request, as JSON with a text in place of the events; nil: no limits.
    package var bodyCheck: (any OutputCheck)?
    /// Sign requests, one after the other. Empty: only the configured headers authenticate the sender.
    package var signers: [any RequestSigner] = []
    /// Obtains what the signers need and what changes over time; nil: nothing does.
    package var credentials: (any CredentialProvider)?
    /// PEM file with the certificate authorities to trust when credentials are obtained; nil: `tls.caFile`.
    package var credentialCAFile: String?
    /// The requests to choose from; each event's envelope names one. Options that do not concern a single request are
    /// read from this object, not from these. Empty: there is only this request.
    package var alternatives: [HTTPOptions] = []
    /// Penstock's version, for User-Agent.
    package var version: String

    package init(url: String, version: String) {
        self.url = url
        self.version = version
    }
}

/// An invalid option, and why. Never holds a header's value, and of a URL only scheme and host.
package struct HTTPOptionsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The option's name in the configuration: `http`, `headers.X-Key`.
    package var option: String
    package var problem: String

    package var description: String { "\(option): \(problem)" }
}

/// Checks whether a service would accept an event. Any thread.
package protocol OutputCheck: Sendable {
    /// - Parameters:
    ///   - json: one event as it would be sent.
    ///   - time: now, in nanoseconds since 1970-01-01 UTC.
    /// - Returns: the limit that the event breaks, and the expected value; nil: the event is fine.
    func problem(with json: Span<UInt8>, at time: Int64) -> String?
    /// Whether events may be changed so that the service accepts them.
    var mends: Bool { get }
    /// An event with what had to be changed so that the service accepts it; nil: nothing is changed.
    func mended(_ json: Span<UInt8>, at time: Int64) -> [UInt8]?
}
