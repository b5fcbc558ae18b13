import Events
import RequestBodies

/// A request whose head has arrived: what becomes of it, and its body so far.
struct HTTPRequest {
    /// Bytes of a refused request that are read and forgotten, so that its client can read the answer.
    private static let discarded = 16 << 20
    /// With the largest body eight times, the bytes that a body may take as sent: enough for chunks of one byte each.
    private static let overhead = 64 << 10

    let head: HTTPRequestHead
    /// As it was when the head arrived: a reload does not change what becomes of a request.
    let access: HTTPAccess
    let route: HTTPRoute?
    /// The key in its head.
    let writeKey: [UInt8]?
    private(set) var body: HTTPBody?
    /// The answer, if nothing in the body can change it.
    private(set) var verdict: HTTPAnswer?
    private var skipped = 0
    /// Bytes behind the head, as sent: with the sizes of chunks, and compressed.
    private var received = 0
    /// Whether nothing behind the request can be trusted to be another request.
    private var endsConnection = false

    init(_ head: HTTPRequestHead, for access: HTTPAccess, isReady: () -> String?) {
        self.head = head
        self.access = access
        route = HTTPRoute(path: head.path)
        writeKey = head.fields[.authorization].flatMap(HTTPAccess.writeKey(authorization:))
        verdict = Self.fault(of: head)
        endsConnection = verdict != nil
        if verdict == nil, access.isWithdrawn { verdict = Self.withdrawn }
        if verdict == nil { verdict = answer(for: access, isReady: isReady) }
        guard verdict == nil else { return }
        body = HTTPBody(encoding: head.token(.contentEncoding), limits: access.limits)
        if body == nil {
            refuse(.unsupportedMediaType, "its Content-Encoding is not known; send gzip, deflate, or none")
        } else if let length = head.contentLength, length > UInt64(access.limits.maximumBody) {
            refuse(HTTPBody.tooLarge(access.limits.maximumBody))
        }
    }

    /// Bytes of memory that depend on what the client sends.
    var heldBytes: Int { head.heldBytes + (body?.heldBytes ?? 0) }

    /// Whether the client waits for a word before it sends the body.
    var expectsContinue: Bool { head.token(.expect) == "100-continue" }

    /// Whether the connection must be closed instead of reading the rest of the request.
    var isHopeless: Bool {
        guard verdict != nil else { return false }
        let isTooLong = skipped > Self.discarded || head.contentLength ?? 0 > UInt64(Self.discarded)
        return endsConnection || expectsContinue || isTooLong
    }

    mutating func append(_ piece: [UInt8], read count: Int) {
        guard verdict == nil else {
            skipped += count
            return
        }
        received += count
        if received > Self.overhead + 8 * access.limits.maximumBody {
            refuse(HTTPBody.tooLarge(access.limits.maximumBody))
            endsConnection = true
            return
        }
        do throws(RequestProblem) {
            try body?.append(piece)
        } catch {
            refuse(error)
        }
    }

    /// The whole body.
    mutating func finishBody() throws(RequestProblem) -> [UInt8] { try body?.finish() ?? [] }

    mutating func refuse(_ problem: RequestProblem) {
        refuse(.badRequest, Refusal(reason: problem.reason, detail: problem.detail))
    }

    private mutating func refuse(_ status: HTTPAnswer.Status, _ refusal: Refusal) {
        verdict = .refusal(status, refusal)
        body = nil
    }

    private mutating func refuse(_ status: HTTPAnswer.Status, _ detail: String) {
        refuse(status, Refusal(reason: .invalidRequest, detail: "the request is refused: \(detail)"))
    }

    // MARK: Checks of the head

    private static func refusal(_ status: HTTPAnswer.Status, _ detail: String) -> HTTPAnswer {
        .refusal(status, Refusal(reason: .invalidRequest, detail: "the request is refused: \(detail)"))
    }

    private static let withdrawn = HTTPAnswer.refusal(
        .unavailable,
        Refusal(
            reason: .notAllowed,
            detail: "the configuration no longer has this source or its http; send the request to another address"))

    /// What is wrong with the head, whatever it asks for.
    private static func fault(of head: HTTPRequestHead) -> HTTPAnswer? {
        guard head.version.major == 1 else {
            return refusal(.versionNotSupported, "it is HTTP/\(head.version.major); send HTTP/1.1")
        }
        if head.version.minor > 0, head.fields[.host] == nil {
            return refusal(.badRequest, "it has no Host field, which HTTP/1.1 requires")
        }
        if !head.repeated.isEmpty, let field = HTTPField.allCases.first(where: head.repeated.contains) {
            return refusal(.badRequest, "it has more than one \(field.name) field")
        }
        if let host = head.fields[.host], !host.allSatisfy(HTTPText.isInHost) {
            return refusal(.badRequest, "its Host field is not a host with an optional port")
        }
        if let coding = head.token(.transferEncoding) {
            guard head.contentLength == nil else {
                return refusal(.badRequest, "it has both a Content-Length and a Transfer-Encoding; send one of them")
            }
            guard head.version.minor > 0 else {
                return refusal(.badRequest, "HTTP/1.0 has no Transfer-Encoding; send a Content-Length")
            }
            guard coding == "chunked" else {
                return refusal(.notImplemented, "its Transfer-Encoding is not known; send chunked alone")
            }
        }
        if let expected = head.token(.expect), expected != "100-continue" {
            return refusal(.expectationFailed, "what it expects is not known; send 100-continue, or no Expect field")
        }
        return nil
    }

    /// The answer that the head alone allows.
    private func answer(for access: HTTPAccess, isReady: () -> String?) -> HTTPAnswer? {
        guard let route else {
            return Self.refusal(
                .notFound,
                """
                there is nothing at this path; send events to /v1/batch, /v1/track, /v1/identify, /v1/page, \
                /v1/screen, /v1/group, /v1/alias, /v1/import or /v1/logs
                """)
        }
        if let origin = head.fields[.origin], !access.allows(origin: origin) {
            return Self.refusal(
                .forbidden, "pages of its origin may not send events; add the origin to allow_origins of this source")
        }
        if head.method == .options {
            var answer = HTTPAnswer(status: .noContent)
            answer.fields = [("Allow", route.methods)]
            return answer
        }
        guard route.takes(head.method) else {
            var answer = Self.refusal(.methodNotAllowed, "this path takes \(route.methods)")
            answer.fields = [("Allow", route.methods)]
            return answer
        }
        switch route {
        case .health: return HTTPAnswer(status: .ok, body: Array("{\"status\":\"up\"}\n".utf8))
        case .ready: return ready(isReady())
        case .settings(let key):
            guard access.accepts(key) else { return .unknownWriteKey }
            return .settings(writeKey: key, host: head.fields[.host] ?? [], isEncrypted: access.isEncrypted)
        case .tracking:
            // Without a key in the head, the body may have one.
            return writeKey == nil || access.accepts(writeKey) ? nil : .unknownWriteKey
        case .logs:
            guard head.logEncoding != nil else {
                return Self.refusal(
                    .unsupportedMediaType,
                    "its Content-Type is not known; send application/x-protobuf or application/json")
            }
            return access.accepts(writeKey) ? nil : .unknownWriteKey
        }
    }

    private func ready(_ obstacle: String?) -> HTTPAnswer {
        guard let obstacle else { return HTTPAnswer(status: .ok, body: Array("{\"status\":\"ready\"}\n".utf8)) }
        var body = Array("{\"status\":\"not ready\",\"detail\":".utf8)
        JSONText.appendString(obstacle, to: &body)
        body += "}\n".utf8
        return HTTPAnswer(status: .unavailable, body: body, retryAfter: HTTPAnswer.retryAfter)
    }
}
