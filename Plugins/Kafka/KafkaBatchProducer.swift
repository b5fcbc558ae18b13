import CKafka
import FleetFormat
import InFlightBatches
import PenstockPluginKit
import Synchronization

/// Sends batches with `format: penstock`, one batch at a time. The producer keeps the order of a partition, and sends
/// nothing after a message that fails. Any thread.
final class KafkaBatchProducer: Sendable {
    /// What a record has besides its body, at most.
    private static let headerSize = 4096
    private static let smallestLimit = 16 << 10

    private struct State {
        let batching: FleetBatching
        /// The most bytes of a message; smaller after a broker has refused one.
        var limit: Int
        /// Of the batch that is on its way.
        var number: InFlight.Number = 0
        var messages: [FleetMessage] = []
    }

    private let topic: String
    private let host: Host
    private let inFlight: InFlight
    private let state: Mutex<State>

    /// - Parameter topic: of all events.
    init(_ settings: KafkaSettings, topic: String, _ host: Host, _ inFlight: InFlight) throws(SinkError) {
        self.topic = topic
        self.host = host
        self.inFlight = inFlight
        let largest = settings.connection.properties?["message.max.bytes"].flatMap { Int($0.text) } ?? 1_000_000
        let batching = try FleetBatching(
            journal: host.journal, destination: host.destination, level: settings.compressionLevel)
        state = Mutex(State(batching: batching, limit: max(largest - Self.headerSize, Self.smallestLimit)))
    }

    /// - Parameter partitions: of the topic.
    func begin(partitions: Int) {
        state.withLock { $0.batching.begin(partitions: partitions, limit: $0.limit) }
    }

    /// Sends a batch. All earlier ones are settled.
    func produce(_ batch: Batch, _ number: InFlight.Number, _ producer: KafkaProducer) {
        let (messages, tooLarge) = state.withLock { state in
            let (messages, tooLarge) = state.batching.messages(of: batch)
            (state.number, state.messages) = (number, messages)
            return (messages, tooLarge)
        }
        inFlight.settle(number, tooLarge, .rejected(reason: "its message has more bytes than the topic permits"))
        host.count("kafka_batches", by: UInt64(messages.count))
        var failure: Outcome?
        for (index, message) in messages.enumerated() {
            // After a failure nothing is produced, which keeps the order.
            if let failure {
                inFlight.settle(number, message.events, failure)
                continue
            }
            let headers = state.withLock { $0.batching.headers(of: message, isBackfill: batch.isBackfill) }
            do throws(KafkaError) {
                unsafe try message.body.withUnsafeBufferPointer { body throws(KafkaError) in
                    unsafe try producer.produce(
                        topic: topic, partition: Int32(clamping: message.partition), key: nil,
                        UnsafeRawBufferPointer(body), headers: headers, place: KafkaSink.place(number, index))
                }
            } catch {
                let reason = error.message
                failure = .retry(reason: reason)
                if error.code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE { makeSmaller() }
                inFlight.settle(number, message.events, .retry(reason: reason))
                producer.fail(KafkaProducer.Failure(reason: reason))
            }
        }
    }

    /// The report of a message. Called on the polling thread.
    func reported(_ number: InFlight.Number, _ index: Int, _ error: KafkaError?, _ producer: KafkaProducer?) {
        let events = state.withLock { state in
            state.number == number && state.messages.indices.contains(index) ? state.messages[index].events : []
        }
        guard let error else { return inFlight.settle(number, events, .delivered) }
        let isRefused = error.blame == .request
        if isRefused, events.count == 1, producer?.isolates == true {
            return inFlight.settle(number, events, .rejected(reason: "a broker refuses it: \(error.message)"))
        }
        if isRefused, events.count > 1 { makeSmaller() }
        // Later messages of the partition must not overtake this one.
        producer?.fail(
            KafkaProducer.Failure(reason: error.message, needsIsolation: isRefused && events.count == 1))
        inFlight.settle(number, events, .retry(reason: producer?.failure?.reason ?? error.message))
    }

    /// The next messages have fewer events.
    private func makeSmaller() {
        state.withLock { state in
            state.limit = max(state.limit / 2, Self.smallestLimit)
        }
    }
}
