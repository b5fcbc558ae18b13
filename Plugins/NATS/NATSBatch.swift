import FleetFormat
import PenstockPluginKit

/// The messages of one offer, or one message with a batch of an edge. Belongs to one thread.
final class NATSBatch {
    private(set) var events = EventBuffer()
    /// A message with a batch of an edge, instead of events.
    private(set) var fleet: NATSMessage?
    /// The sequence of the last message in it, and what was not delivered yet then.
    private(set) var last: UInt64 = 0
    private(set) var behind: UInt64 = 0
    private var replies: [String] = []
    /// A message that did not fit into the offer before.
    private var carried: NATSMessage?
    /// The number of the consumer's next delivery.
    private var next: UInt64
    private let hasNoGaps: Bool
    private let lane: NATSLane
    private let host: SourceHost
    private let gate: NATSGate

    /// - Parameters:
    ///   - deliveries: of the consumer so far.
    ///   - hasNoGaps: whether a gap in the sequences means that messages were removed.
    init(deliveries: UInt64, hasNoGaps: Bool, _ lane: NATSLane, _ host: SourceHost, _ gate: NATSGate) {
        (next, self.hasNoGaps) = (deliveries &+ 1, hasNoGaps)
        (self.lane, self.host, self.gate) = (lane, host, gate)
    }

    /// The lane with the position behind the last message.
    var end: Lane { Lane(name: lane.name, position: String(last)) }
    var receipt: NATSReceipt { NATSReceipt(lane: lane, last: last, replies: replies) }

    /// Collects the messages that have arrived, up to the host's limits.
    /// - Parameter time: how long to wait for the first one.
    /// - Returns: whether there is one.
    /// - Throws: as `NATSPull.next`. What was collected will be delivered again by a consumer that is created again.
    func collect(_ pull: NATSPull, waiting time: Duration) throws -> Bool {
        events.removeAll()
        fleet = nil
        replies.removeAll(keepingCapacity: true)
        let progress = lane.progress
        last = progress.taken
        if let message = carried {
            add(message)
            carried = nil
        } else {
            guard let message = try receive(pull, time, progress) else { return false }
            add(message)
        }
        while fleet == nil, events.count < host.maxOfferEvents, let message = try receive(pull, .zero, progress) {
            if message.isFleet || events.byteCount + message.byteCount > host.maxOfferBytes {
                carried = message
                break
            }
            add(message)
        }
        return true
    }

    private func add(_ message: NATSMessage) {
        // At the very first start it doesn't matter what the stream had before.
        if hasNoGaps, last > 0, message.sequence - last > 1 { noteLoss(of: message.sequence - last - 1) }
        if message.isFleet { fleet = message } else { message.append(to: &events) }
        replies.append(message.reply)
        (last, behind) = (message.sequence, message.behind)
    }

    private func noteLoss(of count: UInt64) {
        let subject = lane.subject
        host.log(
            .warning, "the stream has removed messages before they were read; raise its limits",
            ["subject": subject, "after": "\(last)", "lost": "\(count)"])
        host.count("nats_lost", by: count)
    }

    /// - Returns: the next message that is not taken yet; nil: none has arrived.
    private func receive(_ pull: NATSPull, _ time: Duration, _ progress: LaneProgress) throws -> NATSMessage? {
        var time = time
        while let message = try pull.next(within: time) {
            guard message.delivery == next else {
                throw NATSPull.Interruption(
                    description: "delivery \(next) of the consumer is missing: \(message.delivery) has come")
            }
            next &+= 1
            if message.sequence > last { return message }
            host.count("nats_redelivered")
            // A message that is taken and not yet stored is acknowledged by its first delivery.
            if progress.mayAcknowledge(message.sequence) { gate.acknowledge([message.reply]) }
            time = .zero
        }
        return nil
    }
}
