import Control
import Delivery
import Foundation
import Platform
import Routing

/// Answers the requests of the control socket:
///
/// | request | does |
/// | --- | --- |
/// | `GET /status` | the status report |
/// | `POST /reload` | reloads the configuration |
/// | `GET /configuration` | the files of the running configuration, and how those on disk differ |
/// | `GET /routing` | the running configuration as a graph |
/// | `GET /history?from=STEP` | what was accepted and delivered in the last hour |
/// | `GET /filter?where=FQL` | whether a filter is valid, and the place of its fault |
/// | `POST /explain` | what each destination gets of an event, and why (`ExplainOrder`) |
/// | `POST /diff` | what a reload would change for the newest events (`DiffOrder`) |
/// | `GET /page` | where the page is, and its token |
/// | `GET /dead-letters?destination=NAME&from=NUMBER&limit=N&events=true` | one page of dead letters |
/// | `POST /dead-letters/list`, `/retry`, `/drop` | lists, retries or removes the letters of a `DeadLetterSelection` |
/// | `POST /replay`, `/replay/count` | starts the replay of a `ReplayOrder`; counts its events without sending them |
/// | `POST /replay/cancel?destination=NAME` | cancels a replay |
/// | `GET /tap` | a stream of the events that pass, as a `TapOrder` asks |
/// | `POST /resume?destination=NAME` | ends a destination's wait for its next attempt |
///
/// Requests that need the disk run on the thread of `DiskRequests` or on threads of their own, and a reload on the main
/// thread. All others are answered at once.
struct ControlRequests: ControlHandler {
    let work: MainThreadWork
    let disk: DiskRequests
    let replays: ReplayRequests
    let status: StatusCollector
    let files: RunningFiles
    let tap: LiveTap
    let pipeline: Pipeline
    let history: DeliveryHistory
    let explanations: ExplainRequests
    let diffs: DiffRequests
    /// nil: there is no page.
    let page: @Sendable () -> PageReport?

    func handle(_ request: ControlRequest, reply: ControlReply) {
        switch (request.method, request.path) {
        case (.get, "/status"):
            reply.respond(status.report())
        case (.post, "/reload"):
            work.reload(reply)
        case (.get, "/configuration"):
            disk.add(reply) { [files] _ in reply.respond(files.report()) }
        case (.get, "/routing"):
            reply.respond(files.graph)
        case (.get, "/history"):
            if let first = number("from", of: request, 0...UInt64.max, default: 0, reply) {
                reply.respond(history.report(from: first))
            }
        case (.get, "/filter"):
            reply.respond(FilterReport(checking: request.query["where"] ?? ""))
        case (.post, "/explain"):
            if let order = body(ExplainOrder.self, request, reply) { explanations.add(order, reply) }
        case (.post, "/diff"):
            let order = request.body.isEmpty ? DiffOrder() : body(DiffOrder.self, request, reply)
            if let order { diffs.add(order, reply) }
        case (.get, "/page"):
            guard let page = page() else {
                return reply.fail(404, "there is no page: set control: { page: 127.0.0.1:9378 }, and reload")
            }
            reply.respond(page)
        case (.get, "/dead-letters"):
            list(.init(destination: request.query["destination"] ?? ""), request, reply)
        case (.post, "/dead-letters/list"):
            if let selection = body(DeadLetterSelection.self, request, reply) { list(selection, request, reply) }
        case (.post, "/dead-letters/retry"):
            if let selection = body(DeadLetterSelection.self, request, reply) { add(.retry, selection, reply) }
        case (.post, "/dead-letters/drop"):
            if let selection = body(DeadLetterSelection.self, request, reply) { add(.drop, selection, reply) }
        case (.post, "/replay"), (.post, "/replay/count"):
            guard let order = body(ReplayOrder.self, request, reply), destination(order.destination, reply) != nil
            else { return }
            let rates = ReplayOrder.rates
            if let rate = order.eventsPerSecond, !rates.contains(rate) {
                return reply.fail(
                    400,
                    "events_per_second (--rate) is \(rate); it must be from \(rates.lowerBound) to \(rates.upperBound)")
            }
            let isDryRun = request.path != "/replay"
            disk.add(reply) { [replays] in isDryRun ? replays.count(order, reply) : replays.begin(order, $0, reply) }
        case (.post, "/replay/cancel"):
            let name = request.query["destination"] ?? ""
            if destination(name, reply) != nil { disk.add(reply) { [replays] in replays.cancel(name, $0, reply) } }
        case (.post, "/resume"):
            if let destination = destination(request.query["destination"] ?? "", reply) { resume(destination, reply) }
        case (.get, TapOrder.path):
            watch(request, reply)
        case (_, let path) where Self.paths.contains(path):
            reply.fail(405, "\(request.path) does not take \(request.method.rawValue)")
        default:
            reply.fail(404, "there is nothing at \(request.path): see \(Self.paths.joined(separator: ", "))")
        }
    }

    private static let paths = [
        "/status", "/reload", "/configuration", "/routing", "/history", "/filter", "/explain", "/diff", "/page",
        "/dead-letters", "/replay", "/resume", TapOrder.path,
    ]

    private func watch(_ request: ControlRequest, _ reply: ControlReply) {
        do {
            let order = try TapOrder(query: request.query)
            if let name = order.destination, destination(name, reply) == nil { return }
            tap.start(order, try order.condition.map { try TapMatcher($0) }, reply)
        } catch {
            reply.fail(400, error is FilterError ? "--where: \(error)" : "\(error)")
        }
    }

    private func list(_ selection: DeadLetterSelection, _ request: ControlRequest, _ reply: ControlReply) {
        guard let from = number("from", of: request, 0...UInt64.max, default: 0, reply),
            let limit = number("limit", of: request, 1...Int.max, default: .max, reply)
        else { return }
        add(.list(from: from, limit: limit, withEvents: request.query["events"] == "true"), selection, reply)
    }

    /// - Returns: nil if the query's value is not a number within the bounds; the request is answered then.
    private func number<Number: FixedWidthInteger & Sendable>(
        _ name: String, of request: ControlRequest, _ bounds: ClosedRange<Number>, default number: Number,
        _ reply: ControlReply
    ) -> Number? {
        guard let text = request.query[name] else { return number }
        if let number = Number(text), bounds.contains(number) { return number }
        reply.fail(
            400, "\(name)=\(text.prefix(80)) is not a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
        return nil
    }

    private func resume(_ destination: RunningDestination, _ reply: ControlReply) {
        let status = destination.worker.status
        let waits =
            switch status.state {
            case .retrying, .held, .failing: true
            case .up, .stopped: false
            }
        let backfills = [status.replay, status.retry].compactMap { $0?.state }
        let resumed = waits || status.usersWait || backfills.contains { $0 == .retrying || $0 == .held }
        if resumed { destination.worker.resume() }
        reply.respond(ResumeReport(destination: status.name, state: .init(status.state), resumed: resumed))
    }

    private func add(_ action: DeadLetterRequest.Action, _ selection: DeadLetterSelection, _ reply: ControlReply) {
        guard let destination = destination(selection.destination, reply) else { return }
        do {
            let request = try DeadLetterRequest(action, of: destination, in: pipeline, selection)
            disk.add(reply) { request.perform($0, reply) }
        } catch {
            reply.fail(400, "--where: \(error)")
        }
    }

    private func body<Body: Decodable>(_ type: Body.Type, _ request: ControlRequest, _ reply: ControlReply) -> Body? {
        do {
            return try JSONDecoder().decode(type, from: Data(request.body))
        } catch {
            reply.fail(400, "the request's body does not fit \(request.path)\(place(of: error))")
            return nil
        }
    }

    /// The field at which decoding failed. The text of the library's error is for programmers.
    private func place(of error: any Error) -> String {
        let context: DecodingError.Context? =
            switch error as? DecodingError {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): context
            case .keyNotFound(let key, let context):
                DecodingError.Context(codingPath: context.codingPath + [key], debugDescription: "")
            default: nil
            }
        let path = context?.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue } ?? []
        guard !path.isEmpty else { return ": it is not JSON of the right form" }
        return ": the field \(path.joined(separator: ".").withControlCharactersEscaped) is missing or has a wrong type"
    }

    private func destination(_ name: String, _ reply: ControlReply) -> RunningDestination? {
        if let destination = pipeline[name] { return destination }
        if status.isStopping {
            reply.fail(503, DiskRequests.stopping)
            return nil
        }
        let known = pipeline.names.sorted().joined(separator: ", ")
        reply.fail(404, "there is no destination \"\(name)\"; there are: \(known)")
        return nil
    }
}

extension FilterReport {
    fileprivate init(checking text: String) {
        do {
            _ = try Filter(parsing: text)
            self.init(fault: nil)
        } catch {
            self.init(
                fault: .init(column: error.column, length: error.length, message: error.message, hint: error.hint))
        }
    }
}
