import Events

/// The head of a request, and what it decides. Requests whose heads differ in their Content-Length at most share it.
final class ExaminedHead {
    let head: HTTPRequestHead
    /// As it was when the head arrived: a reload does not change what becomes of a request.
    let access: HTTPAccess
    let route: HTTPRoute?
    /// The key in its head.
    let writeKey: [UInt8]?
    /// The answer, if nothing in the body can change it.
    private(set) var verdict: HTTPAnswer?
    /// Whether nothing behind the request can be trusted to be another request.
    let endsConnection: Bool

    init(_ head: HTTPRequestHead, for access: HTTPAccess, isReady: () -> String?) {
        self.head = head
        self.access = access
        route = HTTPRoute(path: head.path)
        writeKey = head.fields[.authorization].flatMap(HTTPAccess.writeKey(authorization:))
        verdict = Self.fault(of: head)
        endsConnection = verdict != nil
        if verdict == nil, access.isWithdrawn { verdict = Self.withdrawn }
        if verdict == nil { verdict = answer(for: access, isReady: isReady) }
    }

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
            let version = "\(head.version.major).\(head.version.minor)"
            return refusal(.versionNotSupported, "it is HTTP/\(version); send HTTP/1.1")
        }
        if head.version.minor > 0, head.fields[.host] == nil {
            return refusal(.badRequest, "it has no Host field, which HTTP/1.1 requires")
        }
        if !head.repeated.isEmpty, let field = HTTPField.allCases.first(where: head.repeated.contains) {
            return refusal(.badRequest, "it has more than one \(field.name) field; send one")
        }
        if let host = head.fields[.host], !host.allSatisfy(HTTPText.isInHost) {
            return refusal(
                .badRequest, "its Host field is not a host with an optional port; send the address that it uses")
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
