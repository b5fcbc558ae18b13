import CPenstockPlugin
import Delivery
import Events
import Platform
import Synchronization

/// A batch in the form that the plugin sees, and its claim. For a plugin in this process, payloads are not copied: the
/// events point into the outbound batch's own bytes, which this object keeps unchanged while it exists.
///
/// (An array's bytes don't move while a reference to the array exists and nobody changes it. Therefore the pointer from
/// `withUnsafeBufferPointer` stays valid.)
@safe final class PluginBatch: @unchecked Sendable {
    /// Only for the thread that offers it: the plugin's answer may come on another one.
    private var batch: OutboundBatch
    /// The number of events at the front that the plugin already holds and is not shown.
    private let held: Int
    private let claim: Mutex<DeliveryClaim?>
    /// Made by the first `offer` to a plugin in this process.
    private var events: UnsafeMutablePointer<penstock_event>?
    private var header: UnsafeMutablePointer<penstock_batch>?

    /// The number of events that the plugin sees.
    let count: Int
    /// As in `penstock_batch`.
    let flags: UInt32

    /// - Precondition: `held` is less than the number of events.
    init(_ batch: OutboundBatch, held: Int, _ claim: consuming DeliveryClaim) {
        precondition(held >= 0 && held < batch.events.count, "a batch for a plugin has at least one event")
        self.batch = batch
        self.held = held
        count = batch.events.count - held
        flags = batch.livePosition == nil ? 0 : PENSTOCK_BACKFILL
        self.claim = Mutex(claim)
    }

    deinit {
        unsafe events?.deallocate()
        unsafe header?.deallocate()
    }

    /// The batch to pass to `deliver`; valid while this object exists. One thread, before the plugin has the batch.
    func offer(token: UInt64, deadline: Instant) -> UnsafePointer<penstock_batch> {
        let events = unsafe self.events ?? makeEvents()
        unsafe self.events = events
        let header = unsafe self.header ?? .allocate(capacity: 1)
        unsafe self.header = header
        unsafe header.initialize(
            to: penstock_batch(
                struct_size: UInt32(MemoryLayout<penstock_batch>.size), count: UInt32(clamping: count), token: token,
                deadline_ns: deadline.nanoseconds, first_position: events.pointee.position,
                last_position: (events + (count - 1)).pointee.position, events: UnsafePointer(events),
                event_stride: UInt32(MemoryLayout<penstock_event>.stride), flags: flags))
        return unsafe UnsafePointer(header)
    }

    private func makeEvents() -> UnsafeMutablePointer<penstock_event> {
        let events = UnsafeMutablePointer<penstock_event>.allocate(capacity: count)
        unsafe batch.payload.withUnsafeBytes { payload in
            unsafe fill(
                UnsafeMutableRawPointer(events), stride: MemoryLayout<penstock_event>.stride,
                payloadAt: UInt(bitPattern: payload.baseAddress))
        }
        return unsafe events
    }

    /// The bytes that `write` needs.
    /// - Parameter stride: the distance from one event to the next, in bytes; a multiple of 8.
    func sharedSize(stride: Int) -> Int { count * stride + batch.payload.count }

    /// Writes the events and their payloads for another process.
    /// - Parameters:
    ///   - memory: at least `sharedSize` bytes, aligned for the events.
    ///   - address: where that process has mapped the memory.
    ///   - stride: the distance from one event to the next, in bytes.
    /// - Returns: the positions of the first and the last event.
    func write(
        into memory: UnsafeMutableRawBufferPointer, mappedAt address: UInt, stride: Int
    ) -> (first: UInt64, last: UInt64) {
        let size = count * stride
        precondition(memory.count >= sharedSize(stride: stride), "the slot is too small for the batch")
        guard let base = memory.baseAddress else { return (0, 0) }
        unsafe fill(base, stride: stride, payloadAt: address &+ UInt(size))
        unsafe batch.payload.withUnsafeBytes { payload in
            if let source = payload.baseAddress {
                unsafe (base + size).copyMemory(from: source, byteCount: payload.count)
            }
        }
        return (batch.events[held].position, batch.events[batch.events.count - 1].position)
    }

    /// Lets go of the events, when the plugin has a copy of them. Otherwise the worker could not use their memory for
    /// the next batch as soon as this one is settled, and fresh memory costs more than the copy.
    func release() { batch = OutboundBatch() }

    /// - Parameter payload: where the plugin finds the batch's payload.
    private func fill(_ events: UnsafeMutableRawPointer, stride: Int, payloadAt payload: UInt) {
        func string(_ range: Range<Int>) -> penstock_string {
            unsafe penstock_string(
                data: UnsafePointer(bitPattern: payload &+ UInt(range.lowerBound)), length: range.count)
        }
        for index in 0..<count {
            let event = batch.events[held + index]
            unsafe (events + index * stride).initializeMemory(
                as: penstock_event.self,
                to: penstock_event(
                    position: event.position, received_at_ns: event.firstReceivedAt,
                    message_id: string(event.messageID), payload: string(event.payload),
                    kind: Int32(event.kind.rawValue), attempt: event.attempt, part: event.part, reserved: 0,
                    user: string(event.userID)))
        }
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
}
