import Routing

/// The keys of an HTTP destination.
extension Section where Target == DestinationDraft {
    /// Keys that each kind of request may set for itself.
    static let perRequest: [Field<DestinationDraft>] = [
        Field("method", \.http.method, .choice, "the HTTP method"),
        Field(
            "format", \.http.format, .choice,
            "the format of the body: one line for each event (ndjson), one line for each item of the list that the"
                + " mapping returns (lines), one array (array), one event per request (single), the texts that the"
                + " mapping returns as lines (text), or the object that the mapping returns as a form (form) or as an"
                + " XML document (xml)"),
        Field(
            "headers", \.http.headers, .headers,
            "the headers; {{ secret.NAME }} stands for a secret, {{ path }} for a field of the event"),
        Field(
            "body", \.http.body, .body, default: "the events alone",
            "the JSON around the events of a request, with $events where the events are inserted; events with the same"
                + " body share a request"),
        Field(
            "answers", \.http.answers, .answers,
            "the rules for the service's answers; the first rule that matches applies; default: 2xx means delivered;"
                + " 408, 423, 425, 429 and 5xx except 501 mean retry; 401 and 403 mean hold; 400 and 413 mean split;"
                + " any other status means rejected"
        ),
        Field(
            "limits", \.http.limits, .limits,
            "the service's limits on an event; an event that violates a limit is not sent and becomes a dead letter"),
    ]

    static let http: [Field<DestinationDraft>] = target + connection + perRequest

    private static let target: [Field<DestinationDraft>] =
        [
            Field(
                "http", \.http.url, .url, required: true,
                "the URL that batches are sent to, or unix:/path/of.sock:/v1/events; {{ secret.NAME }} stands for a"
                    + " secret, {{ path }} for a field of the event"
            ),
            Field(
                "requests", \.requests, .requests,
                "several kinds of request; an event uses the first kind whose where matches the event"),
            Field("compression", \.http.compression, .choice, "the compression of the body"),
            Field("timeout", \.http.timeout, .duration(.milliseconds(10)...days(1)), "the maximum time for a request"),
            Field(
                "connect_timeout", \.http.connectTimeout, .duration(.milliseconds(10)...days(1)),
                "the maximum time to connect, TLS included"),
            Field(
                "max_answer", \.http.maximumAnswer, .size((1 << 10)...(16 << 20)),
                "the maximum number of bytes to read of an answer; the rest is ignored"),
        ]

    private static let connection: [Field<DestinationDraft>] =
        [
            Field(
                "sign", keys: .signature,
                "the signature in the headers of each request, which authenticates the sender"),
            Field("auth", keys: .authorization, "what authenticates the sender and has to be obtained first"),
            Field(
                "max_redirects", \.http.maximumRedirects, .integer(0...20),
                "the maximum number of redirects to follow for a request; a redirect to another scheme is never"
                    + " followed; another host gets neither headers nor credentials"
            ),
            Field("tls", keys: .tls, "how the service and Penstock authenticate each other"),
            Field(
                "order", \.order, .choice,
                "which later events wait while an event is retried: all events of the destination, or the events of the"
                    + " same user"),
            Field(
                "proxy", \.http.proxy, .proxy, default: "none",
                "the URL of a proxy: http, https, socks5 or socks5h; a socks5h proxy also resolves host names"),
            Field(
                "no_proxy", \.http.proxyExceptions, .list(.proxyException, "hosts"),
                "the hosts, domains and networks that are reached without the proxy"),
        ]

    private static let tls = Section([
        Field(
            "ca_file", \.http.tls.caFile, .path, default: "the system's",
            "the PEM file with the certificate authorities to trust"),
        Field(
            "certificate", \.http.tls.certificate, .path, default: "none",
            "the PEM file with the client certificate and its chain"),
        Field(
            "key", \.http.tls.key, .path, default: "in certificate",
            "the PEM file with the private key of the client certificate"),
        Field("minimum_version", \.http.tls.minimumVersion, .choice, "the oldest TLS version to accept"),
        Field(
            "server_name", \.http.tls.serverName, .word("a host name"), default: "the URL's host",
            "the name that the service's certificate must be valid for"),
    ])
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
    var authorization = AuthorizationDraft()
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
            authorization: authorization.value(fill), maximumRedirects: maximumRedirects, tls: tls,
            proxyText: proxy.map(fill), proxyExceptions: proxyExceptions)
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
