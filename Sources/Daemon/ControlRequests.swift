import Control

/// What the control socket can be asked: `GET /status`, `POST /reload`,
/// `GET /dead-letters?destination=NAME`.
struct ControlRequests: ControlHandler {
    let work: MainThreadWork
    let status: StatusCollector
    let pipeline: Pipeline

    func handle(_ request: ControlRequest, reply: ControlReply) {
        switch (request.method, request.path) {
        case (.get, "/status"):
            reply.respond(status.report())
        case (.post, "/reload"):
            work.add(.reload(reply))
        case (.get, "/dead-letters"):
            listDeadLetters(of: request.query["destination"] ?? "", reply)
        case (_, "/status"), (_, "/reload"), (_, "/dead-letters"):
            reply.fail(405, "\(request.path) does not take \(request.method.rawValue)")
        default:
            reply.fail(404, "there is nothing at \(request.path): see /status, /reload, /dead-letters")
        }
    }

    private func listDeadLetters(of name: String, _ reply: ControlReply) {
        guard let destination = pipeline[name] else {
            let known = pipeline.names.sorted().joined(separator: ", ")
            reply.fail(404, "there is no destination \"\(name)\"; there are: \(known)")
            return
        }
        work.add(.listDeadLetters(destination, reply))
    }
}
