import CKafka
import EventTemplates
import InFlightBatches
import PenstockPluginKit
import Synchronization

/// One instance of the plugin. `deliver` passes a batch to librdkafka and returns; the polling thread settles it as the
/// delivery reports arrive.
final class KafkaSink: SettlingSink {
    static let plugin = Plugin(
        name: "kafka", version: "1.0", summary: "Sends events to topics of Apache Kafka, and reads events from them",
        schema: KafkaSettings.schema, needs: "network")

    static let maximumBatchEvents = 10_000

    private let host: Host
    private let settings: KafkaSettings
    private let inFlight: InFlight
    private var topic: KafkaTopic
    /// nil: with `format: event`.
    private let batches: KafkaBatchProducer?
    private var key: [UInt8] = []
    /// nil: not connected.
    private var producer: KafkaProducer?

    init(settings: KafkaSettings, host: Host) throws {
        try settings.validate()
        self.host = host
        self.settings = settings
        topic = try KafkaTopic(settings)
        inFlight = InFlight(window: Self.maximumBatchEvents * settings.batches) { host.ready() }
        if settings.format == .penstock {
            guard let fixed = topic.fixed else {
                throw SinkError("settings.topic: with format: penstock it has no placeholders")
            }
            batches = try KafkaBatchProducer(settings, topic: fixed, host, inFlight)
        } else {
            batches = nil
        }
        // Checks the properties, without a connection.
        try KafkaConfiguration.check(Self.properties(settings, isolates: false))
    }

    var limits: Limits {
        // With one batch at a time, retried events come before later ones, which the marks of aggregators rest on.
        Limits(
            maxInFlight: batches == nil ? settings.batches : 1, maxBatchEvents: Self.maximumBatchEvents,
            maxBatchBytes: 4 << 20)
    }

    func connect() throws {
        let isolates = producer?.failure?.needsIsolation == true
        disconnect()
        let reports = Reports(inFlight, batches)
        let (inFlight, timeout) = (inFlight, settings.timeout.duration)
        let producer = try KafkaProducer(
            Self.properties(settings, isolates: isolates), isolates: isolates, host,
            onReport: { reports.receive($0, $1) },
            check: {
                guard let due = inFlight.firstDue, due <= .now else { return nil }
                return KafkaProducer.Failure(reason: "no delivery report within \(timeout)")
            })
        reports.attach(producer)
        do throws(SinkError) {
            try producer.findTopic(topic.fixed, within: settings.connection.timeout)
            if let batches, let fixed = topic.fixed {
                batches.begin(
                    partitions: try producer.partitions(of: fixed, within: settings.connection.timeout))
            }
        } catch {
            producer.close()
            throw SinkError("\(settings.connection.brokers.joined(separator: ", ")): \(error)")
        }
        self.producer = producer
    }

    func deliver(_ batch: Batch) throws {
        guard let producer else { throw SinkError("not connected") }
        if let failure = producer.failure { throw SinkError(failure.reason) }
        let due = InFlight.due(batch, settings.timeout.duration, margin: .seconds(1))
        guard let number = inFlight.add(batch, due: due) else { throw SinkBusy() }
        defer { inFlight.sent(number) }
        if let batches { return batches.produce(batch, number, producer) }
        var failure: Outcome?
        for (index, event) in batch.enumerated() {
            // After a failure nothing is produced, which keeps the order.
            if let failure {
                inFlight.settle(number, index, failure)
                continue
            }
            guard let outcome = produce(event, Self.place(number, index), producer) else { continue }
            inFlight.settle(number, index, outcome)
            if case .retry(let reason, _) = outcome {
                failure = outcome
                producer.fail(KafkaProducer.Failure(reason: reason ?? "librdkafka refuses messages"))
            }
        }
    }

    func stop() { disconnect() }

    private func disconnect() {
        producer?.close()
        // Reports that were not read are lost with the producer.
        inFlight.settleRest(.retry(reason: producer?.failure?.reason ?? "the destination was closed"))
        producer = nil
    }

    /// A batch has at most `maximumBatchEvents` events, far below 2^24.
    static func place(_ number: InFlight.Number, _ index: Int) -> UInt { UInt(number) << 24 | UInt(index) }

    /// - Returns: nil: the message is queued, and its delivery report follows.
    private func produce(_ event: Event, _ place: UInt, _ producer: KafkaProducer) -> Outcome? {
        let headers = headers(event)
        return unsafe event.withUnsafePayload { payload -> Outcome? in
            let (name, hasKey) = unsafe topic.read(event, payload.bindMemory(to: UInt8.self).span, key: &key)
            if let problem = KafkaTopic.problem(name) { return .rejected(reason: "its topic \(problem)") }
            do throws(KafkaError) {
                unsafe try producer.produce(
                    topic: name, key: hasKey ? key : nil, payload, headers: headers, place: place)
                return nil
            } catch {
                guard error.code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE else {
                    return .retry(reason: error.message)
                }
                return .rejected(reason: "its message is larger than message.max.bytes of settings.properties")
            }
        }
    }

    private func headers(_ event: Event) -> [(name: String, value: String)] {
        var headers = [
            ("position", "\(host.journal):\(event.position):\(event.part)"), ("kind", event.kindName),
        ]
        if let id = event.decodedMessageID { headers.append(("messageId", id)) }
        return headers
    }

    private static func properties(_ settings: KafkaSettings, isolates: Bool) -> [(name: String, value: String)] {
        KafkaConfiguration.defaults + settings.connection.configuration
            + KafkaConfiguration.producer(settings, isolates: isolates)
    }
}

/// Settles events by their delivery reports. Called on the polling thread.
private final class Reports: Sendable {
    private let inFlight: InFlight
    private let batches: KafkaBatchProducer?
    private let producer = Mutex<WeakProducer>(WeakProducer())

    private struct WeakProducer { weak var value: KafkaProducer? }

    init(_ inFlight: InFlight, _ batches: KafkaBatchProducer?) {
        self.inFlight = inFlight
        self.batches = batches
    }

    func attach(_ producer: KafkaProducer) { self.producer.withLock { $0.value = producer } }

    func receive(_ place: UInt, _ error: KafkaError?) {
        let (number, index) = (InFlight.Number(place >> 24), Int(place & 0xFF_FFFF))
        if let batches { return batches.reported(number, index, error, producer.withLock { $0.value }) }
        guard let error else { return inFlight.settle(number, index, .delivered) }
        let producer = producer.withLock { $0.value }
        if error.blame == .request, producer?.isolates == true {
            return inFlight.settle(number, index, .rejected(reason: "a broker refuses it: \(error.message)"))
        }
        // Later messages with the same key must not overtake this one.
        producer?.fail(KafkaProducer.Failure(reason: error.message, needsIsolation: error.blame == .request))
        let reason = producer?.failure?.reason ?? error.message
        inFlight.settle(number, index, .retry(reason: reason))
    }
}
