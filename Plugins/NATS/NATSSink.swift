import CNats
import EventTemplates
import InFlightBatches
import PenstockPluginKit
import Synchronization

/// One instance of the plugin. `deliver` publishes a batch and returns; the library's thread settles it as the
/// acknowledgements arrive, and a timer when they don't. With `format: penstock`, NATSBatchPublisher does it.
final class NATSSink: SettlingSink {
    static let plugin = Plugin(
        name: "nats", version: "1.0", summary: "Publishes events to NATS JetStream, and reads events from it",
        schema: NATSSettings.schema, needs: "network")

    /// The bound of memory is this many batches of `limits.maxBatchBytes`.
    private static let maximumBatches = 16
    /// Of a batch with `format: penstock`.
    private static let maximumBatchEvents = 20_000

    private let host: Host
    private let settings: NATSSettings
    private let inFlight: InFlight
    /// nil: with `format: penstock`.
    private var subject: NATSSubject?
    private let batches: NATSBatchPublisher?
    private let pattern: String
    /// nil: not connected.
    private var connection: NATSConnection?
    private var timer: ExpiryTimer?

    init(settings: NATSSettings, host: Host) throws {
        try settings.validate()
        self.host = host
        self.settings = settings
        inFlight = InFlight(window: settings.window) { host.ready() }
        switch settings.format {
        case .event:
            let subject = try NATSSubject(settings.subject)
            (self.subject, batches, pattern) = (subject, nil, subject.pattern)
        case .penstock:
            let batches = try NATSBatchPublisher(settings, host, inFlight)
            (subject, self.batches, pattern) = (nil, batches, batches.pattern)
        }
    }

    var limits: Limits {
        // With one batch at a time, retried events come before later ones, which the marks of aggregators rest on.
        if batches != nil {
            return Limits(maxInFlight: 1, maxBatchEvents: Self.maximumBatchEvents, maxBatchBytes: 4 << 20)
        }
        return Limits(
            maxInFlight: settings.window == 1 ? 1 : Self.maximumBatches, maxBatchEvents: settings.window,
            maxBatchBytes: 4 << 20)
    }

    func connect() throws {
        disconnect()
        let inFlight = inFlight
        let acknowledgements = Acknowledgements(inFlight, batches, host)
        do {
            let connection = try NATSConnection(
                settings.connection, name: "penstock \(host.destination)",
                NATSConnection.Handlers(onReply: acknowledgements.receive) { reason in
                    inFlight.settleRest(.retry(reason: "the connection was lost: \(reason)"))
                })
            self.connection = connection
            acknowledgements.attach(connection)
            let largest = try settings.stream.flatMap {
                try NATSStream.check($0, settings, pattern: pattern, connection)
            }
            batches?.begin(connection, largest: largest)
            timer = makeTimer(connection)
        } catch let error as NATSError {
            disconnect()
            throw SinkError("\(settings.connection.servers.joined(separator: ", ")): \(error.message)")
        } catch {
            disconnect()
            throw error
        }
    }

    func deliver(_ batch: Batch) throws {
        guard let connection, let timer else { throw SinkError("not connected") }
        if let reason = connection.lostReason { throw SinkError("the connection was lost: \(reason)") }
        let due = InFlight.due(batch, settings.timeout.duration, margin: .milliseconds(500))
        guard let number = inFlight.add(batch, due: due) else { throw SinkBusy() }
        defer { inFlight.sent(number) }
        if let due = inFlight.firstDue { timer.set(due) }
        if let batches { return try batches.publish(batch, number, connection) }
        var failure: Outcome?
        for (index, event) in batch.enumerated() {
            // After a failure nothing is published, which keeps the order.
            if let failure {
                inFlight.settle(number, index, failure)
                continue
            }
            guard let outcome = publish(event, "\(number)-\(index)", connection) else { continue }
            inFlight.settle(number, index, outcome)
            if case .retry = outcome { failure = outcome }
        }
    }

    func stop() { disconnect() }

    /// - Parameter token: the last token of the reply's subject.
    /// - Returns: nil: the message is sent, and the acknowledgement follows.
    private func publish(_ event: Event, _ token: String, _ connection: NATSConnection) -> Outcome? {
        let id = "\(host.journal):\(event.position):\(event.part):\(host.destination)"
        return unsafe event.withUnsafePayload { payload -> Outcome? in
            let subject = unsafe subject?.make(event, payload.bindMemory(to: UInt8.self).span) ?? ""
            guard subject.utf8.count <= NATSSubject.maximumLength else {
                return .rejected(reason: "its subject has more than \(NATSSubject.maximumLength) bytes")
            }
            do throws(NATSError) {
                unsafe try connection.publish(
                    subject, reply: "\(connection.inbox).\(token)", headers: headers(event, id), payload)
                return nil
            } catch {
                guard error.status == NATS_MAX_PAYLOAD else { return .retry(reason: error.message) }
                return .rejected(
                    reason: "its message has more than \(connection.maximumPayload) bytes, the server's max_payload")
            }
        }
    }

    private func headers(_ event: Event, _ id: String) -> [(name: String, value: String)] {
        var headers = [("Nats-Msg-Id", id), ("Penstock-Kind", event.kindName)]
        if let stream = settings.stream { headers.append(("Nats-Expected-Stream", stream)) }
        // A line break in a value would begin another header.
        if let id = event.decodedMessageID, id.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
            headers.append(("Penstock-Message-Id", id))
        }
        return headers
    }

    private func makeTimer(_ connection: NATSConnection) -> ExpiryTimer {
        let (inFlight, timeout) = (inFlight, settings.timeout.duration)
        return ExpiryTimer { timer in
            let last = connection.lastError.map { "; the connection's last error: \($0)" } ?? ""
            inFlight.settleRest(
                .retry(reason: "no acknowledgement within \(timeout)\(last)"), dueBefore: .now)
            if let due = inFlight.firstDue { timer.set(due) }
        }
    }

    private func disconnect() {
        timer?.stop()
        timer = nil
        connection?.close()
        connection = nil
        inFlight.settleRest(.retry(reason: "the destination was closed before the acknowledgement"))
    }
}

/// Settles events by the replies to their messages. Called on one thread of the library's at a time.
private final class Acknowledgements: Sendable {
    private struct State {
        let reader = PublishAck.Reader()
        weak var connection: NATSConnection?
    }

    private let inFlight: InFlight
    private let batches: NATSBatchPublisher?
    private let host: Host
    private let state = Mutex(State())

    init(_ inFlight: InFlight, _ batches: NATSBatchPublisher?, _ host: Host) {
        self.inFlight = inFlight
        self.batches = batches
        self.host = host
    }

    /// Before the first message is published.
    func attach(_ connection: NATSConnection) { state.withLock { $0.connection = connection } }

    func receive(_ token: String, _ reply: NATSReply) {
        let numbers = token.split(separator: "-")
        guard numbers.count == 2, let batch = InFlight.Number(numbers[0]), let index = Int(numbers[1]) else { return }
        let outcome = outcome(reply)
        guard let batches else { return inFlight.settle(batch, index, outcome) }
        guard let connection = state.withLock({ $0.connection }) else { return }
        batches.answered(batch, message: index, outcome, connection)
    }

    private func outcome(_ reply: NATSReply) -> Outcome {
        if reply.meansNoResponders {
            return .retry(reason: "no stream captures the subject, or its leader is not available (no responders)")
        }
        let content = reply.content
        let ack = state.withLock { $0.reader.read(content.span) }
        if ack.isDuplicate { host.count("nats_duplicates") }
        return ack.outcome
    }
}
