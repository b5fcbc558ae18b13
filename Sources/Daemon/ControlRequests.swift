import Control
import Foundation

/// What the control socket can be asked:
///
/// | request | does |
/// | --- | --- |
/// | `GET /status` | the status report |
/// | `POST /reload` | reads the configuration again |
/// | `GET /dead-letters?destination=NAME&from=NUMBER&limit=N&events=true` | one page of dead letters |
/// | `POST /dead-letters/list`, `/retry`, `/drop` | the same of a `DeadLetterSelection`; tries them again; removes them |
/// | `POST /replay`, `/replay/count` | accepts a `ReplayOrder`; counts what it would bring |
/// | `POST /replay/cancel?destination=NAME` | ends a replay |
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
            list(.init(destination: request.query["destination"] ?? ""), request, reply)
        case (.post, "/dead-letters/list"):
            if let selection = body(DeadLetterSelection.self, request, reply) { list(selection, request, reply) }
        case (.post, "/dead-letters/retry"):
            if let selection = body(DeadLetterSelection.self, request, reply) { add(.retry, selection, reply) }
        case (.post, "/dead-letters/drop"):
            if let selection = body(DeadLetterSelection.self, request, reply) { add(.drop, selection, reply) }
        case (.post, "/replay"), (.post, "/replay/count"):
            guard let order = body(ReplayOrder.self, request, reply), destination(order.destination, reply) != nil else { return }
            work.add(.replay(order, isDryRun: request.path != "/replay", reply))
        case (.post, "/replay/cancel"):
            let name = request.query["destination"] ?? ""
            if destination(name, reply) != nil { work.add(.cancelReplay(name, reply)) }
        case (_, "/status"), (_, "/reload"), (_, "/dead-letters"), (_, "/replay"):
            reply.fail(405, "\(request.path) does not take \(request.method.rawValue)")
        default:
            reply.fail(404, "there is nothing at \(request.path): see /status, /reload, /dead-letters, /replay")
        }
    }

    private func list(_ selection: DeadLetterSelection, _ request: ControlRequest, _ reply: ControlReply) {
        let from = request.query["from"].flatMap { UInt64($0) } ?? 0
        let limit = request.query["limit"].flatMap { Int($0) } ?? .max
        add(.list(from: from, limit: max(1, limit), withEvents: request.query["events"] == "true"), selection, reply)
    }

    private func add(_ action: DeadLetterRequest.Action, _ selection: DeadLetterSelection, _ reply: ControlReply) {
        guard let destination = destination(selection.destination, reply) else { return }
        do {
            work.add(.deadLetters(try DeadLetterRequest(action, of: destination, selection), reply))
        } catch {
            reply.fail(400, "--where: \(error)")
        }
    }

    private func body<Body: Decodable>(_ type: Body.Type, _ request: ControlRequest, _ reply: ControlReply) -> Body? {
        do {
            return try JSONDecoder().decode(type, from: Data(request.body))
        } catch {
            reply.fail(400, "the request's body is not what \(request.path) takes: \(error)")
            return nil
        }
    }

    private func destination(_ name: String, _ reply: ControlReply) -> RunningDestination? {
        if let destination = pipeline[name] { return destination }
        let known = pipeline.names.sorted().joined(separator: ", ")
        reply.fail(404, "there is no destination \"\(name)\"; there are: \(known)")
        return nil
    }
}
