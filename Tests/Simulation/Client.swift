import Events
import Ingest

/// One client. It sends lines in pieces, some of them invalid, and relies on its answers.
final class Client {
    private enum Line {
        case event(Int)
        case nonsense
    }

    let asksForAnswers: Bool
    private let stream: NDJSONStream
    private var outgoing: [UInt8] = []
    /// Bytes that have arrived and are not taken yet.
    private var arrived: [UInt8] = []
    private var lines: [Line] = []
    private var refused: Set<Int> = []
    private var acknowledged = 0
    private var answers: [UInt8] = []

    init(number: Int, asksForAnswers: Bool) {
        self.asksForAnswers = asksForAnswers
        stream = NDJSONStream(origin: Origin(source: "source\(number % 2)", uid: UInt32(number), gid: 1, pid: 1))
        if asksForAnswers { outgoing = Array("{\"penstock\":{\"acks\":true}}\n".utf8) }
    }

    /// Whether all lines are taken and, if the client asks for answers, answered.
    var isDone: Bool {
        outgoing.isEmpty && arrived.isEmpty && !stream.isStalled && (!asksForAnswers || acknowledged == lines.count)
    }

    func add(event: Int, _ ledger: Ledger) {
        lines.append(.event(event))
        outgoing += ledger.events[event] + [10]
    }

    func addNonsense() {
        lines.append(.nonsense)
        outgoing += Array("{\"type\":\"track\"\n".utf8)
    }

    /// Sends the next piece.
    func send(_ count: Int, through admission: EventAdmission) {
        arrived += outgoing.prefix(count)
        outgoing.removeFirst(min(count, outgoing.count))
        arrived.removeFirst(stream.take(arrived.span, through: admission, answerLimit: 1 << 20))
    }

    /// Reads the answers.
    /// - Returns: the events that these answers acknowledge.
    func hear(durableEnd: UInt64, _ trace: Trace) -> [Int] {
        stream.durable(upTo: durableEnd)
        answers += stream.takeAnswers() ?? []
        var heard: [Int] = []
        while let end = answers.firstIndex(of: 10) {
            let line = String(decoding: answers[..<end], as: UTF8.self)
            answers.removeSubrange(...end)
            if line.hasPrefix("{\"ack\":"), let count = Int(line.dropFirst(7).dropLast(1)) {
                heard += acknowledge(count, trace)
            } else if line.hasPrefix("{\"refused\":{\"line\":"),
                let number = Int(line.dropFirst(19).prefix { $0.isNumber })
            {
                refused.insert(number)
            } else {
                trace.violated("a client got an unknown answer: \(line)")
            }
        }
        return heard
    }

    private func acknowledge(_ count: Int, _ trace: Trace) -> [Int] {
        guard count > acknowledged, count <= lines.count else {
            trace.violated("\(count) lines acknowledged after \(acknowledged), \(lines.count) sent")
            return []
        }
        defer { acknowledged = count }
        return (acknowledged..<count).compactMap { index in
            guard !refused.contains(index + 1) else { return nil }
            if case .event(let event) = lines[index] { return event }
            trace.violated("line \(index + 1) is not an event and was acknowledged without a refusal")
            return nil
        }
    }
}
