import Routing

/// The keys of an HTTP destination.
extension Section where Target == DestinationDraft {
    /// Keys that each kind of request may set for itself.
    static let perRequest: [Field<DestinationDraft>] = [
        Field("method", \.http.method, .choice, "HTTP method"),
        Field(
            "format", \.http.format, .choice,
            "body: a line for each event; a line for each item of the list that its mapping makes; one array; or one"
                + " event per request"),
        Field(
            "headers", \.http.headers, .headers,
            "headers; {{ secret.NAME }} stands for a secret, {{ path }} for a field of the event"),
        Field(
            "body", \.http.body, .body, default: "the events alone",
            "the text around the events in a request's body, with $events in their place; events with an equal body"
                + " share a request"),
        Field(
            "answers", \.http.answers, .answers,
            "rules for reading the service's answers; the first that matches decides; default: 2xx is delivered, 408,"
                + " 423, 425, 429 and 5xx but 501 are retried, 401 and 403 hold, 413 splits, and the rest is rejected"
        ),
        Field(
            "limits", \.http.limits, .limits,
            "the service's limits on an event; an event that breaks one is not sent and becomes a dead letter"),
    ]

    static let http: [Field<DestinationDraft>] =
        [
            Field(
                "http", \.http.url, .url, required: true,
                "URL that batches are sent to, or unix:/path/of.sock:/v1/events; "
                    + "{{ secret.NAME }} stands for a secret, {{ path }} for a field of the event"
            ),
            Field(
                "requests", \.requests, .requests,
                "several kinds of request; an event uses the first whose where matches it"),
            Field("compression", \.http.compression, .choice, "compression of the body"),
            Field("timeout", \.http.timeout, .duration(.milliseconds(10)...days(1)), "the longest time for a request"),
            Field(
                "connect_timeout", \.http.connectTimeout, .duration(.milliseconds(10)...days(1)),
                "the longest time to connect, TLS included"),
            Field(
                "max_answer", \.http.maximumAnswer, .size((1 << 10)...(16 << 20)),
                "the most bytes of an answer to read; the rest is ignored"),
            Field("sign", keys: .signature, "a signature in headers of each request, which authenticates the sender"),
            Field(
                "max_redirects", \.http.maximumRedirects, .integer(0...20),
                "redirects followed for a request, never to another scheme, "
                    + "and to another host without headers and credentials"
            ),
            Field(
                "tls",
                keys: Section([
                    Field(
                        "ca_file", \.http.tls.caFile, .path, default: "the system's",
                        "PEM file with the certificate authorities to trust"),
                    Field(
                        "certificate", \.http.tls.certificate, .path, default: "none",
                        "PEM file with the client certificate and its chain"),
                    Field(
                        "key", \.http.tls.key, .path, default: "in certificate",
                        "PEM file with that certificate's key"),
                    Field("minimum_version", \.http.tls.minimumVersion, .choice, "the oldest TLS version to accept"),
                    Field(
                        "server_name", \.http.tls.serverName, .word("a host name"), default: "the URL's host",
                        "the name that the service's certificate must be valid for"),
                ]), "how the service and Penstock authenticate each other"),
            Field(
                "order", \.order, .choice,
                "which later events wait while an event is retried: all of the destination, or those of its user"),
            Field(
                "proxy", \.http.proxy, .proxy, default: "none",
                "URL of a proxy: http, https, socks5, or socks5h, which also resolves names"),
            Field(
                "no_proxy", \.http.proxyExceptions, .list(.proxyException, "hosts"),
                "hosts, domains and networks to reach without the proxy"),
        ] + perRequest
}

/// An HTTP destination during reading.
struct HTTPDraft: Sendable {
    var url = SecretTemplate()
    var method = Configuration.HTTP.Method.POST
    var format = Configuration.HTTP.Format.array
    var headers: [HeaderDraft] = []
    var compression = Configuration.HTTP.Compression.none
    var connectTimeout: Duration = .seconds(10)
    var timeout: Duration = .seconds(30)
    var maximumAnswer = 64 << 10
    var body: MappingDraft?
    var answers: [Configuration.Answer] = []
    var limits: [OutputLimit] = []
    var signature = SignatureDraft()
    var maximumRedirects = 0
    var tls = Configuration.HTTP.TLS()
    var proxy: SecretTemplate?
    var proxyExceptions: [String] = []

    /// - Parameter fill: fills in secrets.
    func value(_ fill: (SecretTemplate) -> ConcealedText) -> Configuration.HTTP {
        Configuration.HTTP(
            urlText: fill(url), method: method, format: format,
            headers: headers.map { .init(name: $0.name, text: fill($0.value)) }, hasBody: body != nil,
            bodyVaries: body?.mapping.dependsOnEvent ?? false, compression: compression,
            connectTimeout: connectTimeout, timeout: timeout, maximumAnswer: maximumAnswer,
            answers: answers, limits: LimitSet(limits), signature: signature.value(fill),
            maximumRedirects: maximumRedirects, tls: tls, proxyText: proxy.map(fill), proxyExceptions: proxyExceptions)
    }
}

struct HeaderDraft: Sendable {
    var name: String
    var value: SecretTemplate

    /// `token` of RFC 9110.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }
}
