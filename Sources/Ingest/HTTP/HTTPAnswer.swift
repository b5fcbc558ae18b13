import Events

/// An answer to one request.
struct HTTPAnswer {
    enum Status: Int {
        case ok = 200
        case noContent = 204
        case badRequest = 400
        case unauthorized = 401
        case forbidden = 403
        case notFound = 404
        case methodNotAllowed = 405
        case timeout = 408
        case unsupportedMediaType = 415
        case expectationFailed = 417
        case tooManyRequests = 429
        case headTooLarge = 431
        case notImplemented = 501
        case unavailable = 503
        case versionNotSupported = 505

        /// Whether the same request may be accepted later.
        var mayPass: Bool { self == .tooManyRequests || self == .unavailable }

        var phrase: String {
            switch self {
            case .ok: "OK"
            case .noContent: "No Content"
            case .badRequest: "Bad Request"
            case .unauthorized: "Unauthorized"
            case .forbidden: "Forbidden"
            case .notFound: "Not Found"
            case .methodNotAllowed: "Method Not Allowed"
            case .timeout: "Request Timeout"
            case .unsupportedMediaType: "Unsupported Media Type"
            case .expectationFailed: "Expectation Failed"
            case .tooManyRequests: "Too Many Requests"
            case .headTooLarge: "Request Header Fields Too Large"
            case .notImplemented: "Not Implemented"
            case .unavailable: "Service Unavailable"
            case .versionNotSupported: "HTTP Version Not Supported"
            }
        }
    }

    var status: Status
    var contentType = "application/json"
    var body: [UInt8] = []
    /// Seconds after which the client may try again (Retry-After).
    var retryAfter: Int?
    /// Additional fields: names and values.
    var fields: [(name: String, value: String)] = []
    /// Whether the connection is closed after the answer.
    var closes = false
    /// Why the whole request was refused; nil: it was not.
    var refusal: Refusal?

    /// More bytes than most answers have before their bodies.
    private static let usualHead = 160

    /// All events of a request are durable.
    static let success = HTTPAnswer(status: .ok, body: Array("{\"success\":true}\n".utf8))

    /// Whether it is `success` and nothing else.
    var isPlainSuccess: Bool {
        status == .ok && !closes && fields.isEmpty && retryAfter == nil && body == Self.success.body
            && contentType == Self.success.contentType
    }

    static let proceed: [UInt8] = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// - Parameters:
    ///   - date: the value of the Date field; nil: none.
    ///   - withoutBody: the request was HEAD.
    func write(to output: inout [UInt8], date: String?, withoutBody: Bool) {
        // Piece by piece: one text of them all would be copied as it grows.
        output.reserveCapacity(output.count + Self.usualHead + body.count)
        func line(_ name: String, _ value: String) {
            output += name.utf8
            output += ": ".utf8
            output += value.utf8
            output += "\r\n".utf8
        }
        output += "HTTP/1.1 ".utf8
        output += String(status.rawValue).utf8
        output += " ".utf8
        output += status.phrase.utf8
        output += "\r\n".utf8
        if let date { line("Date", date) }
        if status != .noContent {
            line("Content-Type", contentType)
            line("Content-Length", String(body.count))
        }
        if let retryAfter { line("Retry-After", String(retryAfter)) }
        for (name, value) in fields { line(name, value) }
        if closes { line("Connection", "close") }
        output += "\r\n".utf8
        if !withoutBody { output += body }
    }

    // MARK: Usual answers

    /// A request that is refused as a whole.
    static func refusal(_ status: Status, _ refusal: Refusal) -> HTTPAnswer {
        var body = Array("{\"success\":false".utf8)
        append(refusal, to: &body)
        body += "}\n".utf8
        return HTTPAnswer(
            status: status, body: body, retryAfter: status.mayPass ? retryAfter : nil, refusal: refusal)
    }

    /// Seconds that a client should wait before it tries again.
    static let retryAfter = 1

    /// SDKs look for `code` and `message`: RudderStack's sends the same request again and again without them.
    private static func append(_ refusal: Refusal, to body: inout [UInt8]) {
        var detail: [UInt8] = []
        JSONText.appendString(refusal.detail, to: &detail)
        for key in ["reason", "code"] { body += ",\"\(key)\":\"\(refusal.reason.rawValue)\"".utf8 }
        for key in ["detail", "message"] {
            body += ",\"\(key)\":".utf8
            body += detail
        }
    }

    /// How many refused events an answer describes.
    static let describedRefusals = 100

    /// The answer to a request with events: those that were not refused are durable.
    /// - Parameter refused: by the index of the event in the request.
    static func events(_ count: Int, refused: [(item: Int, refusal: Refusal)]) -> HTTPAnswer {
        guard !refused.isEmpty else { return success }
        // Events that may be accepted later must not be lost by an answer that says that all is well.
        let later = refused.first { $0.refusal.reason == .journalFull || $0.refusal.reason == .rateLimited }
        let isRefused = refused.count == count || later != nil
        var body = Array("{\"success\":\(!isRefused)".utf8)
        if isRefused, let first = later ?? refused.first { append(first.refusal, to: &body) }
        body += ",\"refused_events\":\(refused.count),\"refused\":[".utf8
        for (number, event) in refused.prefix(describedRefusals).enumerated() {
            if number > 0 { body.append(UInt8(ascii: ",")) }
            body += "{\"index\":\(event.item),\"messageId\":".utf8
            if let id = event.refusal.messageID {
                JSONText.appendString(id, to: &body)
            } else {
                body += "null".utf8
            }
            body += ",\"reason\":\"\(event.refusal.reason.rawValue)\",\"detail\":".utf8
            JSONText.appendString(event.refusal.detail, to: &body)
            body.append(UInt8(ascii: "}"))
        }
        body += "]}\n".utf8
        guard later == nil else { return HTTPAnswer(status: .unavailable, body: body, retryAfter: retryAfter) }
        return HTTPAnswer(status: isRefused ? .badRequest : .ok, body: body)
    }
}
