import Events
import RequestBodies

// Answers that depend on what the request asks for.

extension HTTPAnswer {
    static var unknownWriteKey: HTTPAnswer {
        var answer = refusal(
            .unauthorized,
            Refusal(
                reason: .unknownWriteKey,
                detail: """
                    the write key is missing or not known; send one of the source's write_keys, as Basic (the user) or \
                    Bearer authorization, or to the tracking API as writeKey in the body
                    """))
        // Not Basic, which is accepted too: a browser would ask for a password, and URLSession of Swift on Linux never
        // returns from such an answer (swift-corelibs-foundation issue 5456).
        answer.fields = [("WWW-Authenticate", "Bearer realm=\"penstock\"")]
        return answer
    }

    /// The settings that analytics.js, analytics-swift and analytics-kotlin fetch when they start: one destination,
    /// Segment's own, at this address.
    /// - Parameter host: the Host field.
    static func settings(writeKey: [UInt8], host: [UInt8], isEncrypted: Bool) -> HTTPAnswer {
        var body = Array("{\"integrations\":{\"Segment.io\":{\"apiKey\":".utf8)
        JSONText.appendString(String(decoding: writeKey, as: UTF8.self), to: &body)
        body += ",\"apiHost\":".utf8
        JSONText.appendString(String(decoding: host, as: UTF8.self) + "/v1", to: &body)
        body += ",\"protocol\":\"\(isEncrypted ? "https" : "http")\"".utf8
        body +=
            """
            ,"unbundledIntegrations":[],"bundledConfigIds":[],"unbundledConfigIds":[],"addBundledMetadata":true,\
            "maybeBundledConfigIds":{},"versionSettings":{"version":"4.4.7","componentTypes":["browser"]}}},\
            "plan":{"track":{"__default":{"enabled":true,"integrations":{}}},\
            "identify":{"__default":{"enabled":true}},"group":{"__default":{"enabled":true}}},\
            "edgeFunction":{},"analyticsNextEnabled":true,"middlewareSettings":{},"enabledMiddleware":{},\
            "metrics":{"sampleRate":0},"legacyVideoPluginsEnabled":false,"remotePlugins":[]}

            """.utf8
        return HTTPAnswer(status: .ok, body: body, fields: [("Cache-Control", "no-cache")])
    }
}

extension HTTPRequestHead {
    /// The encoding of OTLP messages, in requests and answers; nil: its Content-Type is another.
    var logEncoding: OTLPLogs.Encoding? {
        switch token(.contentType) {
        case "application/x-protobuf": .protobuf
        case "application/json": .json
        default: nil
        }
    }
}

extension HTTPRequest {
    /// The answer to a request whose events are in the journal or refused.
    func answer(_ submission: EventSubmission) -> HTTPAnswer {
        let answer = HTTPAnswer.events(submission.count, refused: submission.refused)
        guard route == .logs, let encoding = head.logEncoding, answer.status != .unavailable else { return answer }
        // OTLP tells of single records in an answer that is otherwise a success.
        let first = submission.refused.first.map { "record \($0.item): \($0.refusal.detail)" } ?? ""
        return HTTPAnswer(
            status: .ok, contentType: encoding.contentType,
            body: OTLPLogs.response(rejected: submission.refused.count, message: first, encoding))
    }

    /// Adds what every answer to this request has.
    func complete(_ answer: inout HTTPAnswer) {
        if route == .logs, let encoding = head.logEncoding, answer.status.rawValue >= 400 {
            answer.contentType = encoding.contentType
            answer.body = OTLPLogs.failure(
                code: answer.status.statusCode, message: answer.refusal?.detail ?? answer.status.phrase, encoding)
        }
        if access.allowedOrigins?.isEmpty != true { answer.fields.append(("Vary", "Origin")) }
        guard let origin = head.fields[.origin], access.allows(origin: origin) else { return }
        let text = access.allowedOrigins == nil ? "*" : String(decoding: origin, as: UTF8.self)
        answer.fields += [("Access-Control-Allow-Origin", text), ("Access-Control-Expose-Headers", "Retry-After")]
        guard head.method == .options, head.fields[.requestedMethod] != nil else { return }
        // The answer to a preflight (Fetch Standard, section 3.3).
        answer.fields += [
            ("Access-Control-Allow-Methods", route?.methods ?? "OPTIONS"),
            ("Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding, AnonymousId"),
            ("Access-Control-Allow-Private-Network", "true"),
            ("Access-Control-Max-Age", "86400"),
        ]
    }
}

extension OTLPLogs.Encoding {
    var contentType: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        }
    }
}

extension HTTPAnswer.Status {
    /// The code of google.rpc.Status that fits best.
    var statusCode: Int32 {
        switch self {
        case .unauthorized: 16
        case .forbidden: 7
        case .tooManyRequests: 8
        case .unavailable, .timeout: 14
        default: 3
        }
    }
}
