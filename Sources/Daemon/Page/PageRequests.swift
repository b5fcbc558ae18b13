import Control
import Page

/// Answers the requests of the page's listener: the document at `/`, which holds no data, and below `/api` some of the
/// requests of the control socket. A reload is not among them.
struct PageRequests: ControlHandler {
    /// What the page may ask of the daemon.
    static let allowed: [ControlRequest.Method: Set<String>] = [
        .get: ["/status", "/tap", "/configuration", "/routing", "/history", "/filter", "/dead-letters"],
        .post: [
            "/explain", "/diff", "/dead-letters/list", "/dead-letters/retry", "/dead-letters/drop", "/replay",
            "/replay/count",
            "/replay/cancel", "/resume",
        ],
    ]

    private static let prefix = "/api"

    let access: PageAccess
    let control: ControlRequests
    let document: PageDocument

    func handle(_ request: ControlRequest, reply: ControlReply) {
        if request.path == "/" {
            guard request.method == .get else { return reply.fail(405, "/ does not take \(request.method.rawValue)") }
            return reply.respond(contentType: "text/html; charset=utf-8", body: document.html)
        }
        if let refusal = access.refusal(of: request) { return reply.fail(refusal.status, refusal.message) }
        var request = request
        guard request.path.hasPrefix(Self.prefix + "/") else { return reply.fail(404, "there is nothing at this path") }
        request.path.removeFirst(Self.prefix.count)
        guard Self.allowed[request.method]?.contains(request.path) == true else {
            return reply.fail(404, "the page does not offer this: use the command penstock")
        }
        // The page's taps are samples, so that they cost little.
        if request.path == TapOrder.path {
            let rate = request.query["rate"].flatMap { Int($0) } ?? Self.rate
            request.query["rate"] = "\(min(max(rate, 1), Self.rate))"
        }
        control.handle(request, reply: reply)
    }

    /// The most records per second of a tap: more than a person can read.
    static let rate = 200
}
