import PenstockPluginKit

/// One instance of the source. The reading thread does all the work: see KafkaReader.
final class KafkaSource: Source {
    static let source = SourceDescription(schema: KafkaSourceSettings.schema, needs: "network")

    /// Of the refused events of an offer, so many are logged with their offsets. The host counts all.
    private static let shownRefusals = 10

    private let settings: KafkaSourceSettings
    private let host: SourceHost
    private let pending: PendingOffers<KafkaReceipt>
    private let progress = KafkaProgress()
    /// nil: not connected.
    private var consumer: KafkaConsumer?
    private var thread: JoinableThread?

    init(settings: KafkaSourceSettings, host: SourceHost) throws {
        try settings.validate()
        self.settings = settings
        self.host = host
        pending = PendingOffers(host)
        // Checks the properties, without a connection.
        try KafkaConfiguration.check(Self.properties(settings))
    }

    func connect() throws {
        consumer?.close(within: .zero)
        consumer = nil
        let consumer = try KafkaConsumer(Self.properties(settings))
        // Missing topics are a problem, not a failure: the others can be read.
        if let problem = consumer.metadataProblem(of: nil, within: settings.connection.timeout) {
            var cause: String?
            while consumer.poll(
                .zero, onMessage: { _ in }, onEvent: { if case .failed(_, let text) = $0 { cause = cause ?? text } })
            {}
            consumer.close(within: .zero)
            let text = cause.map { "no broker answers: \($0)" } ?? problem.text
            throw SourceError("\(settings.connection.brokers.joined(separator: ", ")): \(text)")
        }
        self.consumer = consumer
    }

    func start(_ lanes: [Lane]) throws {
        guard let consumer else { throw SourceError("not connected") }
        var positions: [String: Int64] = [:]
        for lane in lanes {
            let (name, text) = (lane.name, lane.text)
            guard let offset = KafkaStart.offset(text) else {
                throw SourceError(
                    "the journal's position \"\(text)\" of \(name) is not an offset: another plugin has stored"
                        + " it; give this source a name of its own")
            }
            positions[name] = offset
        }
        try consumer.subscribe(settings.topics)
        let (settings, host, pending, progress) = (settings, host, pending, progress)
        thread = JoinableThread { [positions] in
            KafkaReader(settings, host, consumer, pending, progress, positions: positions).run()
        }
    }

    func ready() {
        pending.ready()
        consumer?.wake()
    }

    func durable(_ offer: DurableOffer) {
        guard let receipt = pending.durable(offer) else { return }
        progress[receipt.partition] = receipt.end
        for refusal in offer.refusals.prefix(Self.shownRefusals) where refusal.index < receipt.offsets.count {
            let partition = receipt.partition
            host.log(
                .warning, "a message is no event: \(refusal.reason)",
                [
                    "topic": partition.topic, "partition": "\(partition.number)",
                    "offset": "\(receipt.offsets[refusal.index])",
                ])
        }
    }

    func stop() {
        pending.stop()
        progress.phase = .stopped
        if thread != nil { consumer?.wake() }
    }

    func end() {
        guard let thread else {
            consumer?.close(within: .zero)
            return
        }
        progress.phase = .ended
        consumer?.wake()
        thread.join()
    }

    private static func properties(_ settings: KafkaSourceSettings) -> [(name: String, value: String)] {
        KafkaConfiguration.sourceDefaults + settings.connection.configuration + KafkaConfiguration.consumer(settings)
    }
}
