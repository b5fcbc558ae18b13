import CNats
import FleetFormat
import PenstockPluginKit

/// The durable pull consumer of a lane.
///
/// Its acknowledgement floor only says what the broker may forget, and what other hosts have taken: the journal's
/// position is the truth. So a lane begins behind the larger of the two, and if the consumer stands elsewhere or has
/// messages that were delivered and never acknowledged, it is deleted and created again at the right sequence. What it
/// delivers then has no gaps and is in the stream's order.
struct NATSConsumer {
    /// The state on the server.
    struct Facts {
        /// The sequences in the stream, and the number of deliveries.
        var delivered: UInt64
        var deliveries: UInt64
        var floor: UInt64
        var pending: Int64
        /// Whether it is a pull consumer with explicit acknowledgement and the lane's filter.
        var isSuitable: Bool
        /// Whether it has the limits of `configure`.
        var hasLimits: Bool
    }

    /// Longer than a host takes to store an event, unless its journal is full: what is delivered again is recognised.
    private static let acknowledgementWait: Int64 = 300_000_000_000
    private static let maximumPending: Int64 = 50_000
    /// How long the servers may be without an answer for the consumer, although they have one for the stream: longer
    /// than they take to choose a leader. A cluster can lose a consumer for good while its servers fail one after
    /// another (seen with nats-server 2.15.1): then nobody leads it, and only a new one helps.
    private static let patience = Duration.seconds(20)

    let jetStream: JetStream
    let stream: String
    let lane: NATSLane
    let host: SourceHost

    /// Makes the consumer stand behind what is stored. Everything that was offered must be stored: the floor of a
    /// consumer that is created here is the sequence before its first one.
    /// - Returns: the number of messages that the consumer has delivered so far, and whether a gap in the sequences
    ///   means that messages were removed: else they may be of other subjects, or acknowledged.
    func prepare() throws -> (deliveries: UInt64, hasNoGaps: Bool) {
        let facts: JetStream.StreamFacts
        do {
            facts = try Self.check(stream, try jetStream.stream(stream))
        } catch {
            // Nobody answers for the stream either, so nothing is known of the consumer.
            lane.endSilence()
            throw error
        }
        var consumer = try readPatiently()
        if let consumer, !consumer.isSuitable {
            let (name, filter) = (lane.consumer, lane.filter.map { " and the filter \($0)" } ?? " and without a filter")
            throw SourceError(
                "the consumer \(name) of the stream \(stream) is not a pull consumer with explicit "
                    + "acknowledgement\(filter): delete it, or change settings.consumer")
        }
        let hasNoGaps = lane.filter == nil && facts.retention == js_LimitsPolicy
        var stored = lane.progress.durable
        if stored > facts.last {
            let subject = lane.subject
            host.log(
                .warning, "the stream ends before the stored position: it was created again; all of it is read",
                ["stream": stream, "subject": subject, "stored": "\(stored)", "last": "\(facts.last)"])
            host.count("nats_stream_resets")
            stored = 0
        }
        let last = max(stored, min(consumer?.floor ?? 0, facts.last))
        lane.begin(at: last)
        if let consumer, consumer.hasLimits, consumer.pending == 0, consumer.delivered == last {
            return (consumer.deliveries, hasNoGaps)
        }
        if consumer != nil {
            try delete()
            consumer = nil
        }
        try create(at: last + 1, facts)
        return (0, hasNoGaps)
    }

    /// - Returns: the stream, if a source can read it.
    /// - Throws: an error for the operator.
    static func check(_ name: String, _ facts: JetStream.StreamFacts?) throws(SourceError) -> JetStream.StreamFacts {
        guard let facts else {
            throw SourceError("the stream \(name) does not exist: create it, or change settings.stream")
        }
        if facts.retention == js_InterestPolicy {
            throw SourceError(
                "the stream \(name) has retention \"interest\": a consumer that is created again would lose messages; "
                    + "use a stream with retention \"limits\" or \"workqueue\", such as one that has it as a source"
            )
        }
        return facts
    }

    /// - Returns: nil: there is none, or it was given up.
    private func readPatiently() throws(NATSError) -> Facts? {
        do throws(NATSError) {
            let facts = try read()
            lane.endSilence()
            return facts
        } catch {
            guard error.isConsumerLost else {
                lane.endSilence()
                throw error
            }
            guard lane.consumerIsSilent(for: Self.patience) else { throw error }
            let (consumer, subject) = (lane.consumer, lane.subject)
            host.log(
                .warning, "the servers have lost the consumer: \(error.message); it is created again",
                ["subject": subject, "consumer": consumer])
            host.count("nats_consumers_lost")
            // Nobody may be there to answer.
            do throws(NATSError) { try delete() } catch { if !error.isConsumerLost { throw error } }
            return nil
        }
    }

    private func read() throws(NATSError) -> Facts? {
        var info: UnsafeMutablePointer<jsConsumerInfo>?
        var code = jsErrCode(rawValue: 0)
        let status = unsafe js_GetConsumerInfo(&info, jetStream.handle, stream, lane.consumer, nil, &code)
        defer { unsafe jsConsumerInfo_Destroy(info) }
        if status == NATS_NOT_FOUND || code == JSConsumerNotFoundErr { return nil }
        try NATSError.check(status, code)
        guard let info = unsafe info?.pointee, let configuration = unsafe info.Config?.pointee else {
            throw NATSError(NATS_ERR)
        }
        let filter = unsafe configuration.FilterSubject.map { unsafe String(cString: $0) } ?? ""
        let isPull = unsafe configuration.DeliverSubject == nil
        // Until the first acknowledgement, the server's floor is 0, wherever the consumer began.
        let start = unsafe configuration.OptStartSeq
        return unsafe Facts(
            delivered: info.Delivered.Stream, deliveries: info.Delivered.Consumer,
            floor: max(info.AckFloor.Stream, start > 0 ? start - 1 : 0),
            pending: info.NumAckPending,
            isSuitable: isPull && configuration.AckPolicy == js_AckExplicit && filter == lane.filter ?? "",
            hasLimits: configuration.MaxDeliver <= 0 && configuration.MaxAckPending == Self.maximumPending
                && configuration.AckWait == Self.acknowledgementWait)
    }

    private func delete() throws(NATSError) {
        var code = jsErrCode(rawValue: 0)
        let status = unsafe js_DeleteConsumer(jetStream.handle, stream, lane.consumer, nil, &code)
        if status != NATS_NOT_FOUND && code != JSConsumerNotFoundErr { try NATSError.check(status, code) }
        let (consumer, position) = (lane.consumer, String(lane.progress.durable))
        host.log(
            .info, "the consumer is created again behind the stored position",
            ["consumer": consumer, "position": position])
    }

    private func create(at sequence: UInt64, _ facts: JetStream.StreamFacts) throws(NATSError) {
        var configuration = unsafe jsConsumerConfig()
        unsafe jsConsumerConfig_Init(&configuration)
        unsafe configuration.AckPolicy = js_AckExplicit
        unsafe configuration.AckWait = Self.acknowledgementWait
        unsafe configuration.MaxAckPending = Self.maximumPending
        unsafe configuration.MaxDeliver = -1
        // A work queue has no other policy. What it has acknowledged is gone, and what is stored is recognised.
        if facts.retention == js_WorkQueuePolicy {
            unsafe configuration.DeliverPolicy = js_DeliverAll
        } else {
            unsafe configuration.DeliverPolicy = js_DeliverByStartSequence
            unsafe configuration.OptStartSeq = sequence
        }
        let status = unsafe lane.consumer.withCString { name in
            unsafe configuration.Durable = name
            guard let filter = lane.filter else {
                return unsafe js_AddConsumer(nil, jetStream.handle, stream, &configuration, nil, nil)
            }
            return unsafe filter.withCString { filter in
                unsafe configuration.FilterSubject = filter
                return unsafe js_AddConsumer(nil, jetStream.handle, stream, &configuration, nil, nil)
            }
        }
        try NATSError.check(status)
    }
}
