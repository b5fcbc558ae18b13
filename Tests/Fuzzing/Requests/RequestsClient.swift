import Events
import Ingest
import Platform

/// An HTTP client's stream that stores events in memory, with limits so small that inputs reach them.
final class RequestsClient {
    final class Store: EventAppender, @unchecked Sendable {
        private(set) var events: [[UInt8]] = []

        func append(
            _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
        ) -> AppendOutcome {
            for index in events.indices {
                let start = Int(events[index].offset)
                var copy: [UInt8] = []
                copy.append(contentsOf: bytes.extracting(start..<start + Int(events[index].length)))
                self.events.append(copy)
            }
            return .queued(end: UInt64(self.events.count))
        }

        var durableEnd: UInt64 { UInt64(events.count) }
    }

    private static let limits = SourceLimits(
        maximumEventSize: 512, maximumDepth: 8, maximumConnections: 1, maximumUnreadAnswers: 1 << 20)
    private nonisolated(unsafe) static let scanner = EventScanner(maximumEventSize: 512, maximumDepth: 8)

    let store = Store()
    private let admission: EventAdmission
    private let stream: HTTPStream
    private var answers: [UInt8] = []

    init() {
        let clock = SystemClock()
        var access = HTTPAccess()
        access.writeKeys = [Array("key".utf8)]
        access.allowedOrigins = ["https://a"]
        access.limits.maximumHead = 512
        access.limits.maximumBody = 2048
        access.limits.maximumEvents = 8
        admission = EventAdmission(limits: Self.limits, appender: store, statistics: SourceStatistics(), clock: clock)
        stream = HTTPStream(
            origin: Origin(source: "apps", uid: 1, gid: 1, pid: 1), user: .local(1), connection: 1,
            door: HTTPDoor(
                access: CurrentHTTPAccess(access), requests: access.limits, limits: Self.limits, limiter: nil,
                clock: clock, obstacle: { nil }))
    }

    func send(_ bytes: [UInt8]) {
        var at = 0
        while at < bytes.count {
            var turn = TurnBudget.unlimited
            at += stream.take(bytes.span.extracting(at...), through: admission, answerLimit: 1 << 20, turn: &turn)
            stream.durable(upTo: store.durableEnd)
            answers += stream.takeAnswers() ?? []
        }
        require(stream.heldBytes < 1 << 20, "\(stream.heldBytes) bytes are held")
    }

    /// The status codes of the answers, which must be whole.
    func statuses() -> [Int] {
        var statuses: [Int] = []
        var rest = answers[...]
        while !rest.isEmpty {
            guard rest.starts(with: Array("HTTP/1.1 ".utf8)), let end = rest.firstRange(of: Array("\r\n\r\n".utf8))
            else {
                fatalError("no answer: \(String(decoding: rest, as: UTF8.self))")
            }
            let head = String(decoding: rest[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            statuses.append(Int(head[0].dropFirst(9).prefix(3)) ?? 0)
            rest = rest[end.upperBound...]
            let length = head.first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
            // The answer to HEAD has the length of a body, and no body.
            guard length > 0, !rest.isEmpty, !rest.starts(with: Array("HTTP/1.1 ".utf8)) else { continue }
            require(rest.count >= length, "an answer lacks \(length - rest.count) bytes")
            rest = rest.dropFirst(length)
        }
        return statuses
    }

    /// Each stored event is one valid event on one line.
    func checkEvents() {
        for event in store.events {
            var (accepted, refused) = ([ScannedEvent](), [ScannedRefusal]())
            _ = unsafe Self.scanner.scan((event + [0x0A]).span, accepted: &accepted, refused: &refused)
            require(accepted.count == 1 && refused.isEmpty, "stored: \(String(decoding: event, as: UTF8.self))")
        }
    }
}
