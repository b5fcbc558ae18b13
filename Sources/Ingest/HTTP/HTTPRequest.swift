import Events
import RequestBodies

/// A request whose head has arrived: what becomes of it, and its body so far.
struct HTTPRequest {
    /// Bytes of a refused request that are read and forgotten, so that its client can read the answer.
    private static let discarded = 16 << 20
    /// With the largest body eight times, the bytes that a body may take as sent: enough for chunks of one byte each.
    private static let overhead = 64 << 10

    private let examined: ExaminedHead
    /// The one in `examined` may be that of an earlier request.
    private let contentLength: UInt64?
    private(set) var body: HTTPBody?
    /// The answer, if nothing in the body can change it.
    private(set) var verdict: HTTPAnswer?
    private var skipped = 0
    /// Bytes behind the head, as sent: with the sizes of chunks, and compressed.
    private var received = 0
    /// Whether nothing behind the request can be trusted to be another request.
    private var endsConnection = false

    init(_ examined: ExaminedHead, contentLength: UInt64?) {
        self.examined = examined
        self.contentLength = contentLength
        verdict = examined.verdict
        endsConnection = examined.endsConnection
        guard verdict == nil else { return }
        body = HTTPBody(encoding: head.token(.contentEncoding), limits: access.limits)
        if body == nil {
            refuse(.unsupportedMediaType, "its Content-Encoding is not known; send gzip, deflate, or none")
        } else if let length = contentLength, length > UInt64(access.limits.maximumBody) {
            refuse(HTTPBody.tooLarge(access.limits.maximumBody))
        }
    }

    var head: HTTPRequestHead { examined.head }
    var access: HTTPAccess { examined.access }
    var route: HTTPRoute? { examined.route }
    var writeKey: [UInt8]? { examined.writeKey }

    /// Bytes of memory that depend on what the client sends.
    var heldBytes: Int { head.heldBytes + (body?.heldBytes ?? 0) }

    /// Whether the client waits for a word before it sends the body.
    var expectsContinue: Bool { head.token(.expect) == "100-continue" }

    /// Whether the connection must be closed instead of reading the rest of the request.
    var isHopeless: Bool {
        guard verdict != nil else { return false }
        let isTooLong = skipped > Self.discarded || contentLength ?? 0 > UInt64(Self.discarded)
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
}
