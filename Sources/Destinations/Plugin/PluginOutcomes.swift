import CPenstockPlugin
import Delivery

/// The outcomes of a batch as a plugin wrote them, made into ours. What cannot be read counts as
/// unsettled: the event is offered again.
struct PluginOutcomes {
    /// Bytes of a reason that are kept.
    static let reasonLimit = 1024

    let settlement: DeliveryClaim.Settlement
    /// What was wrong with them, if anything was.
    let problem: String?

    /// - Parameter events: how many the batch has.
    init(_ first: UnsafePointer<penstock_outcome>?, count: UInt32, stride: UInt32, events: Int) {
        let size = unsafe MemoryLayout<penstock_outcome>.size
        guard let first = unsafe first, Int(stride) >= size else {
            settlement = .all(Self.unsettled)
            problem = "no array, or a stride of \(stride) bytes (sizeof(penstock_outcome) is \(size)); offered again"
            return
        }
        problem = Int(count) > events ? "\(count) of them for \(events) events; those too many are ignored" : nil
        let given = min(Int(count), events)
        var outcomes: [Outcome] = []
        for index in 0..<given {
            // Unaligned: whatever the stride is, it must not trap here.
            let outcome = unsafe UnsafeRawPointer(first).loadUnaligned(
                fromByteOffset: index * Int(stride), as: penstock_outcome.self)
            // The common case: not one of them needs more than a look.
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

    private static var unsettled: Outcome { .retry(reason: "the plugin did not say what became of the event") }

    private static func outcome(_ outcome: penstock_outcome) -> Outcome {
        let reason = unsafe boundedString(outcome.reason, reasonLimit).flatMap { $0.isEmpty ? nil : $0 }
        switch unsafe outcome.status {
        case PENSTOCK_DELIVERED: return .delivered
        case PENSTOCK_RETRY:
            let after: Duration? =
                unsafe outcome.retry_after_ms == 0 ? nil : .milliseconds(Int64(outcome.retry_after_ms))
            return .retry(reason: reason ?? "the plugin asks to retry", after: after)
        case PENSTOCK_REJECTED: return .rejected(reason: reason ?? "the plugin rejected the event")
        default: return unsettled
        }
    }
}
