import FleetFormat
import InFlightBatches
import PenstockPluginKit
import Synchronization

/// Publishes batches with `format: penstock`, one batch at a time: the messages of its partitions side by side, those
/// of one partition one after the other. Any thread.
final class NATSBatchPublisher: Sendable {
    /// What the header fields of a message may take of the server's max_payload.
    private static let headerSize = 2048
    private static let partitions = 64

    private struct State {
        let batching: FleetBatching
        /// Of the batch that is on its way.
        var number: InFlight.Number = 0
        var isBackfill = false
        var outbox = FleetOutbox()
        /// A message was larger than the stream permits: its limit must be read again.
        var needsLimit = false
    }

    private let settings: NATSSettings
    private let subject: NATSPartitionSubject
    private let host: Host
    private let inFlight: InFlight
    private let state: Mutex<State>

    init(_ settings: NATSSettings, _ host: Host, _ inFlight: InFlight) throws(SinkError) {
        self.settings = settings
        self.host = host
        self.inFlight = inFlight
        subject = try NATSPartitionSubject(settings.subject)
        let batching = try FleetBatching(
            journal: host.journal, destination: host.destination, level: settings.compressionLevel)
        state = Mutex(State(batching: batching))
    }

    var pattern: String { subject.pattern }

    /// - Parameter largest: the most bytes of a message that the stream permits; nil: any that the server does.
    func begin(_ connection: NATSConnection, largest: Int?) {
        let limit = min(Int(clamping: connection.maximumPayload), largest ?? .max) - Self.headerSize
        state.withLock { state in
            state.needsLimit = false
            state.batching.begin(partitions: settings.partitions ?? Self.partitions, limit: limit)
        }
    }

    /// Publishes a batch. All earlier ones are settled.
    func publish(_ batch: Batch, _ number: InFlight.Number, _ connection: NATSConnection) throws(SinkError) {
        let (count, first, tooLarge) = try state.withLock { state throws(SinkError) in
            if state.needsLimit { throw SinkError("a message is larger than the stream's max_msg_size") }
            let (messages, tooLarge) = state.batching.messages(of: batch)
            state.number = number
            state.isBackfill = batch.isBackfill
            state.outbox = FleetOutbox()
            return (messages.count, state.outbox.begin(messages), tooLarge)
        }
        let reason = "its message has more bytes than the server's max_payload or the stream's max_msg_size permits"
        inFlight.settle(number, tooLarge, .rejected(reason: reason))
        host.count("nats_batches", by: UInt64(count))
        for message in first { send(message, number, connection) }
    }

    /// An answer to a message of a batch.
    func answered(_ number: InFlight.Number, message: Int, _ outcome: Outcome, _ connection: NATSConnection) {
        switch outcome {
        case .delivered:
            let (delivered, next) = state.withLock { state -> ([Int], FleetMessage?) in
                state.number == number ? state.outbox.acknowledge(message) : ([], nil)
            }
            inFlight.settle(number, delivered, .delivered)
            if let next { send(next, number, connection) }
        case .rejected(let reason):
            // The messages can be smaller, with fewer events each.
            state.withLock { $0.needsLimit = true }
            fail(number, message, .retry(reason: reason))
        case .retry: fail(number, message, outcome)
        }
    }

    private func fail(_ number: InFlight.Number, _ message: Int, _ outcome: Outcome) {
        let events = state.withLock { $0.number == number ? $0.outbox.fail(message) : [] }
        inFlight.settle(number, events, outcome)
    }

    private func send(_ message: FleetMessage, _ number: InFlight.Number, _ connection: NATSConnection) {
        var headers = state.withLock { state in
            var headers = state.batching.headers(of: message, isBackfill: state.isBackfill)
            // What is repeated on purpose must not be dropped.
            if !state.isBackfill {
                headers.append(("Nats-Msg-Id", "\(host.journal):\(host.destination):\(message.id)"))
            }
            return headers
        }
        if let stream = settings.stream { headers.append(("Nats-Expected-Stream", stream)) }
        let reply = "\(connection.inbox).\(number)-\(message.number)"
        do throws(NATSError) {
            unsafe try message.body.withUnsafeBufferPointer { body throws(NATSError) in
                unsafe try connection.publish(
                    subject.subject(of: message.partition), reply: reply, headers: headers,
                    UnsafeRawBufferPointer(body))
            }
        } catch {
            fail(number, message.number, .retry(reason: error.message))
        }
    }
}
