import Events
import Foundation
import Platform
import Synchronization
import Testing

@testable import Ingest

/// One HTTP client's stream with its admission, appender and statistics. Tests feed it text.
final class HTTPClient {
    let appender = RecordingAppender()
    let statistics = SourceStatistics()
    let admission: EventAdmission
    let stream: HTTPStream

    init(
        _ access: HTTPAccess = HTTPAccess(), rateLimit: ClientRateLimit? = nil, maximumConsecutiveRefusals: Int = 1000,
        obstacle: String? = nil
    ) {
        let clock = SystemClock()
        let limits = SourceLimits(
            maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 1 << 20,
            maximumConsecutiveRefusals: maximumConsecutiveRefusals)
        admission = EventAdmission(limits: limits, appender: appender, statistics: statistics, clock: clock)
        let door = HTTPDoor(
            access: CurrentHTTPAccess(access), requests: access.limits, limits: limits,
            limiter: rateLimit.map(RateLimiter.init), clock: clock,
            obstacle: { obstacle })
        stream = HTTPStream(
            origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3), user: .local(1), connection: 1, door: door)
    }

    /// - Returns: the number of bytes that the stream took.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        var turn = TurnBudget.unlimited
        return stream.take(bytes.span, through: admission, answerLimit: 1 << 20, turn: &turn)
    }

    @discardableResult
    func send(_ text: String) -> Int { send(Array(text.utf8)) }

    func commit() {
        let end = appender.state.withLock { state in
            state.durableEnd = UInt64(state.events.count)
            return state.durableEnd
        }
        stream.durable(upTo: end)
    }

    /// The answers that are ready.
    func answers() -> [Answer] { Answer.all(in: stream.takeAnswers() ?? []) }

    /// Sends a request, and takes its answer after a commit.
    func ask(_ request: String) throws -> Answer {
        send(request)
        commit()
        let answers = answers()
        #expect(answers.count == 1, "\(answers)")
        return try #require(answers.first)
    }

    struct Answer: Equatable {
        var status: Int
        var fields: [String: String]
        var body: String

        /// The value of `reason` in the body.
        var reason: String? { json["reason"] as? String }
        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
        }

        /// The answers in a stream, in which only those to HEAD have no body.
        static func all(in bytes: [UInt8], toHEAD: Bool = false) -> [Answer] {
            var answers: [Answer] = []
            var rest = String(decoding: bytes, as: UTF8.self)[...]
            while let end = rest.range(of: "\r\n\r\n") {
                let lines = rest[..<end.lowerBound].components(separatedBy: "\r\n")
                var fields: [String: String] = [:]
                for line in lines.dropFirst() {
                    let parts = line.components(separatedBy: ": ")
                    fields[parts[0].lowercased()] = parts[1]
                }
                rest = rest[end.upperBound...]
                let length = toHEAD ? 0 : Int(fields["content-length"] ?? "0") ?? 0
                let body = rest.utf8.prefix(length)
                rest = rest[body.endIndex...]
                answers.append(
                    Answer(
                        status: Int(lines[0].split(separator: " ")[1]) ?? 0, fields: fields, body: String(body) ?? ""))
            }
            #expect(rest.isEmpty, "the answers end with \(rest)")
            return answers
        }
    }

    static func event(_ id: String) -> String { #"{"type":"track","event":"E","userId":"u","messageId":"\#(id)"}"# }

    static func batch(_ items: [String], more: String = "") -> String {
        "{\"batch\":[\(items.joined(separator: ","))]\(more)}"
    }

    static func post(_ path: String, _ body: String, fields: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    static func get(_ path: String, method: String = "GET", fields: String = "") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost:8377\r\n\(fields)\r\n"
    }
}

extension SourceListener.LoopAdmission {
    /// Any client may use HTTP.
    init(_ admission: EventAdmission) {
        let door = HTTPDoor(
            access: CurrentHTTPAccess(HTTPAccess()), requests: HTTPAccess.Limits(), limits: admission.limits,
            limiter: nil, clock: SystemClock(), obstacle: { nil })
        self.init(admission: admission, door: door)
    }
}
