import CPenstockPlugin
import Delivery

/// Converts a plugin's outcomes for a batch. An invalid outcome counts as unsettled: the event is offered again.
struct PluginOutcomes {
    /// The most bytes kept of a reason.
    static let reasonLimit = 1024

    let settlement: DeliveryClaim.Settlement
    /// The problem with the outcomes, if any.
    let problem: String?

    /// - Parameter events: the number of events in the batch.
    init(_ first: UnsafePointer<penstock_outcome>?, count: UInt32, stride: UInt32, events: Int) {
        let size = unsafe MemoryLayout<penstock_outcome>.size
        guard let first = unsafe first, Int(stride) >= size else {
            settlement = .all(Self.unsettled)
            problem =
                "the array is missing, or its stride is \(stride) bytes, less than sizeof(penstock_outcome), \(size);"
                + " the events are offered again"
            return
        }
        problem =
            Int(count) > events
            ? "\(count) outcomes for \(events) \(events == 1 ? "event" : "events"); the surplus is ignored" : nil
        let given = min(Int(count), events)
        var outcomes: [Outcome] = []
        for index in 0..<given {
            // Unaligned, because the plugin's stride may be any number.
            let outcome = unsafe UnsafeRawPointer(first).loadUnaligned(
                fromByteOffset: index * Int(stride), as: penstock_outcome.self)
            // The common case, all delivered, needs no array.
            if unsafe outcome.status == PENSTOCK_DELIVERED && outcomes.isEmpty { continue }
            if outcomes.isEmpty {
                outcomes.reserveCapacity(events)
                outcomes.append(contentsOf: repeatElement(.delivered, count: index))
            }
            outcomes.append(unsafe Self.outcome(outcome))
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

    private static func outcome(_ outcome: penstock_outcome) -> Outcome {
        let reason = unsafe boundedString(outcome.reason, reasonLimit).flatMap { $0.isEmpty ? nil : $0 }
        switch unsafe outcome.status {
        case PENSTOCK_DELIVERED: return .delivered
        case PENSTOCK_RETRY:
            let after: Duration? =
                unsafe outcome.retry_after_ms == 0 ? nil : .milliseconds(Int64(outcome.retry_after_ms))
            return .retry(reason: reason ?? "the plugin asked for a retry", after: after)
        case PENSTOCK_REJECTED: return .rejected(reason: reason ?? "the plugin rejected the event")
        default: return unsettled
        }
    }
}
