import EventTemplates
import PenstockPluginKit

/// One instance of the plugin. `deliver` returns when each message is acknowledged or has failed.
final class MQTTSink: BlockingSink {
    static let plugin = Plugin(
        name: "mqtt", version: "1.0", summary: "Publishes each event to a topic of an MQTT broker",
        schema: MQTTSettings.schema, needs: "network")

    private let host: Host
    private let settings: MQTTSettings
    private let writer: TopicWriter
    /// nil: not connected.
    private var session: MQTTSession?
    /// The broker ended the connection because of one of the messages in flight. The next batch is published one
    /// message at a time, until the message is known.
    private var isSearching = false

    init(settings: MQTTSettings, host: Host) throws {
        try settings.validate()
        _ = try settings.parsedAddress()
        self.host = host
        self.settings = settings
        writer = try TopicWriter(settings.topic)
    }

    /// One batch at a time keeps the order of events. The library has 65,535 ids for messages.
    var limits: Limits { Limits(maxInFlight: 1, maxBatchEvents: 1000, maxBatchBytes: 8 << 20) }

    func connect() throws {
        close()
        do throws(SinkError) {
            let session = try MQTTSession(clientID: clientID)
            self.session = session
            try session.open(settings)
        } catch {
            close()
            throw SinkError(reason(error.description))
        }
    }

    func deliver(_ batch: Batch) throws -> [Outcome] {
        // The connection may have ended while there were no events.
        if session == nil || session?.ended != nil { try connect() }
        guard let session else { throw SinkError(reason("not connected")) }
        let outcomes = isSearching ? publishOneByOne(batch, session) : publish(batch, batch.indices, session)
        host.count("mqtt_messages", by: UInt64(outcomes.count { $0 == .delivered }))
        return outcomes
    }

    func stop() { close() }

    /// Publishes some events of the batch, as many at a time as the window allows.
    private func publish(_ batch: Batch, _ range: Range<Int>, _ session: MQTTSession) -> [Outcome] {
        var outcomes: [Outcome?] = Array(repeating: nil, count: range.count)
        var published = 0
        session.begin()
        for index in range {
            switch publish(batch[index], index - range.lowerBound, session) {
            case nil: published += 1
            case .message(let why): outcomes[index - range.lowerBound] = .rejected(reason: why)
            case .session(let why): return settle(outcomes, published, session, why)
            }
        }
        return settle(outcomes, published, session, nil)
    }

    private func publish(_ event: Event, _ index: Int, _ session: MQTTSession) -> MQTTSession.Refusal? {
        let topic = event.withPayload { payload in writer.topic(of: event, payload) }
        guard topic.count <= TopicWriter.maximumLength else {
            return .message("its topic has \(topic.count) bytes, and MQTT allows \(TopicWriter.maximumLength)")
        }
        let properties = MQTTProperties(of: event)
        return unsafe event.withUnsafePayload { payload in
            unsafe session.publish(index, to: topic, payload, retain: settings.retain, properties)
        }
    }

    /// Waits for the acknowledgements of the published messages. The connection is closed if one does not come.
    /// - Parameter problem: why no further message could be published.
    private func settle(
        _ outcomes: [Outcome?], _ published: Int, _ session: MQTTSession, _ problem: String?
    ) -> [Outcome] {
        let acknowledged = session.acknowledgements(published, within: settings.timeout.duration)
        let ended = session.ended
        let missing = acknowledged.count < published
        if problem != nil || missing { close() }
        if missing, ended?.reason?.blamesMessage == true { isSearching = true }
        let why = problem ?? ended?.text ?? "the broker sent no acknowledgement within settings.timeout"
        return outcomes.enumerated().map { index, outcome in
            outcome ?? acknowledged[index].map(self.outcome) ?? .retry(reason: reason(why))
        }
    }

    private func publishOneByOne(_ batch: Batch, _ session: MQTTSession) -> [Outcome] {
        var outcomes: [Outcome] = []
        for index in batch.indices {
            outcomes += publish(batch, index..<index + 1, session)
            guard self.session != nil else {
                if let reason = session.ended?.reason, reason.blamesMessage {
                    outcomes[index] = .rejected(reason: reason.description)
                    isSearching = false
                }
                return outcomes
            }
        }
        isSearching = false
        return outcomes
    }

    private func outcome(_ reason: MQTTReason) -> Outcome {
        // "No matching subscribers" is a success: the broker has accepted the message.
        guard reason.isFailure else { return .delivered }
        // A fixed topic is the operator's fault, and holds back all events.
        if reason.blamesMessage || reason.blamesTopic && !writer.isFixed {
            return .rejected(reason: reason.description)
        }
        return .retry(reason: self.reason(reason.description))
    }

    private func close() {
        session?.close()
        session = nil
    }

    /// Two daemons with the same client id would end each other's connections, so the journal's id is a part of it.
    private var clientID: String {
        settings.clientID ?? "penstock-\(host.destination)" + (host.journal.isEmpty ? "" : "-\(host.journal)")
    }

    private func reason(_ text: String) -> String { "mqtt at \(settings.address): \(text)" }
}
