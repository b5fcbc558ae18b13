import CPenstockPlugin
import Delivery
import Events
import Platform
import Synchronization

/// A batch in the form that the plugin sees, and its claim. Payloads are not copied: the events point into the outbound
/// batch's own bytes, which this object keeps unchanged while it exists.
///
/// (An array's bytes don't move while a reference to the array exists and nobody changes it. Therefore the pointer from
/// `withUnsafeBufferPointer` stays valid.)
@safe final class PluginBatch: @unchecked Sendable {
    private let batch: OutboundBatch
    /// The number of events at the front that the plugin already holds and is not shown.
    private let held: Int
    private let claim: Mutex<DeliveryClaim?>
    private let events: UnsafeMutablePointer<penstock_event>
    private let header: UnsafeMutablePointer<penstock_batch>

    /// The number of events that the plugin sees.
    var count: Int { batch.events.count - held }

    /// - Precondition: `held` is less than the number of events.
    init(_ batch: OutboundBatch, held: Int, _ claim: consuming DeliveryClaim) {
        precondition(held >= 0 && held < batch.events.count, "a batch for a plugin has at least one event")
        self.batch = batch
        self.held = held
        self.claim = Mutex(claim)
        let count = batch.events.count - held
        unsafe events = .allocate(capacity: count)
        unsafe header = .allocate(capacity: 1)
        unsafe header.initialize(to: penstock_batch())
        unsafe batch.payload.withUnsafeBytes { payload in
            for index in 0..<count {
                let event = batch.events[held + index]
                unsafe (events + index).initialize(
                    to: penstock_event(
                        position: event.position, received_at_ns: event.receivedAt,
                        message_id: Self.string(payload, event.messageID), payload: Self.string(payload, event.payload),
                        kind: Int32(event.kind.rawValue), attempt: event.attempt, part: event.part, reserved: 0))
            }
        }
    }

    deinit {
        unsafe events.deallocate()
        unsafe header.deallocate()
    }

    /// The batch to pass to `deliver`; valid while this object exists.
    func offer(token: UInt64, deadline: Instant) -> UnsafePointer<penstock_batch> {
        unsafe header.pointee = penstock_batch(
            struct_size: UInt32(MemoryLayout<penstock_batch>.size), count: UInt32(clamping: count), token: token,
            deadline_ns: deadline.nanoseconds, first_position: events.pointee.position,
            last_position: (events + (count - 1)).pointee.position, events: UnsafePointer(events),
            event_stride: UInt32(MemoryLayout<penstock_event>.stride), reserved: 0)
        return unsafe UnsafePointer(header)
    }

    /// Settles the events that the plugin sees, and reports the events it already holds as delivered. Only the first
    /// call has an effect. Any thread.
    func settle(_ settlement: DeliveryClaim.Settlement) {
        guard let claim = claim.withLock({ $0.take() }) else { return }
        guard held > 0 else { return claim.settle(settlement) }
        let before = [Outcome](repeating: .delivered, count: held)
        switch settlement {
        case .all(let outcome): claim.settle(.each(before + [Outcome](repeating: outcome, count: count)))
        case .each(let outcomes): claim.settle(.each(before + outcomes))
        }
    }

    private static func string(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> penstock_string {
        let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
        return unsafe penstock_string(data: part.baseAddress?.assumingMemoryBound(to: CChar.self), length: part.count)
    }
}
