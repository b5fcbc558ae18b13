import CPenstockPlugin
import CPluginChannel
import Delivery
import PluginHosting

/// Converts a plugin's outcomes for a batch. An invalid outcome counts as unsettled: the event is offered again.
struct PluginOutcomes {
    /// The most bytes kept of a reason.
    static let reasonLimit = 1024

    let settlement: DeliveryClaim.Settlement
    /// The problem with the outcomes, if any.
    let problem: String?

    /// - Parameter events: the number of events in the batch.
    init(_ first: UnsafePointer<penstock_outcome>?, count: UInt32, stride: UInt32, events: Int) {
        let first = unsafe UnsafeRawPointer(first)
        let isReadable = unsafe first != nil && stride >= PLUGIN_OUTCOME_SIZE_1_0
        self.init(count: count, stride: stride, isReadable: isReadable, events: events) { index in
            // Unaligned, because the plugin's stride may be any number.
            guard
                let outcome = unsafe first?.loadUnaligned(
                    fromByteOffset: index * Int(stride), as: penstock_outcome.self)
            else { return Self.unsettled }
            return Self.outcome(
                unsafe outcome.status, unsafe outcome.retry_after_ms,
                unsafe boundedString(outcome.reason, Self.reasonLimit))
        }
    }

    /// - Parameter events: the number of events in the batch.
    init(_ completion: PluginCompletion, events: Int) {
        let outcomes = completion.outcomes ?? []
        var place = 0
        self.init(
            // Fewer than it claims count as missing.
            count: completion.count, stride: completion.stride,
            isReadable: completion.outcomes != nil && outcomes.count >= min(Int(completion.count), events),
            events: events
        ) { index in
            let outcome = outcomes[index]
            let end = place + Int(outcome.reason_length)
            defer { place = end }
            let reason = String(decoding: completion.reasons[place..<end].prefix(Self.reasonLimit), as: UTF8.self)
            return Self.outcome(outcome.status, outcome.retry_after_ms, reason)
        }
    }

    /// - Parameter outcome: called for each event that has an outcome, in order.
    private init(count: UInt32, stride: UInt32, isReadable: Bool, events: Int, _ outcome: (Int) -> Outcome) {
        guard isReadable else {
            settlement = .all(Self.unsettled)
            problem =
                "the array is missing, or its stride is \(stride) bytes, less than sizeof(penstock_outcome), "
                + "\(PLUGIN_OUTCOME_SIZE_1_0); the events are offered again"
            return
        }
        problem =
            Int(count) > events
            ? "\(count) outcomes for \(events) \(events == 1 ? "event" : "events"); the surplus is ignored" : nil
        let given = min(Int(count), events)
        var outcomes: [Outcome] = []
        for index in 0..<given {
            let outcome = outcome(index)
            // The common case, all delivered, needs no array.
            if outcome == .delivered && outcomes.isEmpty { continue }
            if outcomes.isEmpty {
                outcomes.reserveCapacity(events)
                outcomes.append(contentsOf: repeatElement(.delivered, count: index))
            }
            outcomes.append(outcome)
        }
        if outcomes.isEmpty && given == events {
            settlement = .all(.delivered)
        } else {
            if outcomes.isEmpty { outcomes.append(contentsOf: repeatElement(.delivered, count: given)) }
            outcomes.append(contentsOf: repeatElement(Self.unsettled, count: events - outcomes.count))
            settlement = .each(outcomes)
        }
    }

    private static var unsettled: Outcome { .retry(reason: "the plugin reported no outcome for the event") }

    private static func outcome(_ status: Int32, _ retryAfter: UInt32, _ text: String?) -> Outcome {
        let reason = text.flatMap { $0.isEmpty ? nil : $0 }
        switch status {
        case PENSTOCK_DELIVERED: return .delivered
        case PENSTOCK_RETRY:
            let after: Duration? = retryAfter == 0 ? nil : .milliseconds(Int64(retryAfter))
            return .retry(reason: reason ?? "the plugin asked for a retry", after: after)
        case PENSTOCK_REJECTED: return .rejected(reason: reason ?? "the plugin rejected the event")
        default: return unsettled
        }
    }
}
