import CPenstockPlugin
import Glibc
import Synchronization

/// A batch of events in journal order. Settled exactly once; a batch that is released without it is settled then, and
/// its events are offered again. Any thread.
///
/// Unsafe part: the host's batch, valid until it is settled. Nothing is read after that.
@safe public final class Batch: RandomAccessCollection, Sendable {
    private enum State { case offered, settled, declined }

    public let startIndex = 0
    public let endIndex: Int
    /// The positions of the first and the last event.
    public let firstPosition: UInt64
    public let lastPosition: UInt64
    /// CLOCK_MONOTONIC in nanoseconds. After it the host offers the events again.
    public let deadline: Int64
    /// The events are of a replay or are retried dead letters: live delivery has passed their positions.
    public let isBackfill: Bool

    fileprivate let pointer: BatchPointer
    private let host: Host
    private let state = Mutex(State.offered)

    init(_ batch: UnsafePointer<penstock_batch>, _ host: Host) {
        unsafe pointer = BatchPointer(batch: batch)
        endIndex = unsafe Int(batch.pointee.count)
        firstPosition = unsafe batch.pointee.first_position
        lastPosition = unsafe batch.pointee.last_position
        deadline = unsafe batch.pointee.deadline_ns
        isBackfill = unsafe batch.pointee.flags & PENSTOCK_BACKFILL != 0
        self.host = host
    }

    deinit { settle([]) }

    /// - Precondition: the batch is not settled.
    public subscript(index: Int) -> Event {
        precondition(index >= 0 && index < endIndex, "event \(index) of a batch of \(endIndex)")
        return Event(batch: self, index: UInt32(index))
    }

    /// Reports an outcome for each event, in the batch's order. An event without one is offered again. Only the first
    /// call has an effect.
    public func settle(_ outcomes: some Collection<Outcome>) {
        settle { token in host.complete(token, Array(outcomes.prefix(endIndex))) }
    }

    /// Reports one outcome for all events.
    public func settle(_ outcome: Outcome) {
        settle { token in host.complete(token, outcome, count: endIndex) }
    }

    /// The time until `deadline`; negative after it.
    public var timeLeft: Duration {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        return .nanoseconds(deadline) - .seconds(now.tv_sec) - .nanoseconds(now.tv_nsec)
    }

    /// The position that a plugin that `keepsPosition` stores with this batch: the last event's, but never past an
    /// event that is not stored. The host keeps rejected events durably only once it offers the next batch.
    /// - Parameter missing: the index of the first event that is not stored; nil: all are.
    /// - Returns: nil: the old position stays.
    public func completePosition(before missing: Int?) -> UInt64? {
        guard let missing else { return lastPosition }
        let position = self[missing].position
        return position == 0 ? nil : position - 1
    }

    /// The host takes the batch back.
    func decline() { state.withLock { if $0 == .offered { $0 = .declined } } }

    private func settle(_ complete: (UInt64) -> Void) {
        let isFirst = state.withLock { state in
            guard state == .offered else { return false }
            state = .settled
            return true
        }
        if isFirst { unsafe complete(pointer.batch.pointee.token) }
    }

    /// Reads the host's memory, which stays valid meanwhile only if no other thread settles the batch.
    fileprivate func read<Value, Failure>(
        _ index: UInt32, _ body: (borrowing UnsafeEvent) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(state.withLock { $0 == .offered }, "an event was read after its batch was settled")
        return unsafe try body(event(index))
    }

    /// Reads all events, in order. Cheaper than the events of the collection, which are checked one by one.
    /// - Parameter body: gets each event and its index. It must not settle the batch. The bytes stay valid until
    ///   somebody does.
    public func withUnsafeEvents<Failure>(
        _ body: (Int, borrowing UnsafeEvent) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(state.withLock { $0 == .offered }, "events were read after their batch was settled")
        for index in 0..<endIndex { unsafe try body(index, event(UInt32(truncatingIfNeeded: index))) }
    }

    private func event(_ index: UInt32) -> UnsafeEvent {
        guard let event = unsafe penstock_batch_event(pointer.batch, index) else {
            preconditionFailure("the batch has no events")
        }
        return unsafe UnsafeEvent(
            event: event, hasUser: pointer.batch.pointee.event_stride >= MemoryLayout<penstock_event>.size)
    }
}

/// The fields of one event in the host's memory, which stays valid until the batch is settled.
@unsafe public struct UnsafeEvent: ~Copyable {
    fileprivate let event: UnsafePointer<penstock_event>
    /// Hosts before version 1.2 know no users.
    fileprivate let hasUser: Bool

    public var position: UInt64 { unsafe event.pointee.position }
    public var part: UInt32 { unsafe event.pointee.part }
    public var receivedAt: Int64 { unsafe event.pointee.received_at_ns }
    public var payload: UnsafeRawBufferPointer { unsafe event.pointee.payload.bytes }
    /// As in `penstock_event`: with JSON escapes; empty: there is none, or it must be read from the payload.
    public var user: UnsafeRawBufferPointer {
        unsafe hasUser ? event.pointee.user.bytes : UnsafeRawBufferPointer(start: nil, count: 0)
    }
}

/// Valid until the batch is settled.
@safe private struct BatchPointer: @unchecked Sendable {
    let batch: UnsafePointer<penstock_batch>
}

/// One event of a batch. It can be read until the batch is settled: reading it later is a programming error and ends
/// the process.
public struct Event: Sendable {
    public enum Kind: Int32, Sendable { case track = 1, identify, page, screen, group, alias }

    let batch: Batch
    let index: UInt32

    /// Its position in the host's journal. With `part` it is the idempotency key, the same on every retry and replay.
    public var position: UInt64 { unsafe batch.read(index) { unsafe $0.event.pointee.position } }
    /// The index, from 0, among the events that transforms made of the one at `position`.
    public var part: UInt32 { unsafe batch.read(index) { unsafe $0.event.pointee.part } }
    /// When it was received, by the host that received it first if that is known: nanoseconds since 1970-01-01 UTC.
    public var receivedAt: Int64 { unsafe batch.read(index) { unsafe $0.event.pointee.received_at_ns } }
    /// nil: a kind that is newer than this kit.
    public var kind: Kind? { unsafe batch.read(index) { unsafe Kind(rawValue: $0.event.pointee.kind) } }
    /// The kind's name, such as `track`; `unknown` for a kind that is newer than this kit.
    public var kindName: String {
        switch kind {
        case .track: "track"
        case .identify: "identify"
        case .page: "page"
        case .screen: "screen"
        case .group: "group"
        case .alias: "alias"
        case nil: "unknown"
        }
    }
    /// How often it was offered before; 0: this is the first time.
    public var attempt: UInt32 { unsafe batch.read(index) { unsafe $0.event.pointee.attempt } }
    /// Its message id as written in the payload, with JSON escapes; empty if the payload has none.
    public var messageID: String {
        unsafe batch.read(index) { unsafe String(decoding: $0.event.pointee.message_id.bytes, as: UTF8.self) }
    }
    /// The user's id as written in the payload, with JSON escapes; the anonymous id if there is no user's. Empty if
    /// there is neither, or if the host has not looked: then read the payload.
    public var user: String { unsafe batch.read(index) { unsafe String(decoding: $0.user, as: UTF8.self) } }
    /// The JSON object after filters and transforms, or the value that the destination's mapping makes of it. Valid
    /// JSON without line feeds.
    public var payload: String { unsafe batch.read(index) { unsafe String(decoding: $0.payload, as: UTF8.self) } }

    /// The payload without a copy.
    /// - Parameter body: must not settle the batch.
    public func withPayload<Value, Failure>(_ body: (Span<UInt8>) throws(Failure) -> Value) throws(Failure) -> Value {
        try unsafe withUnsafePayload { bytes throws(Failure) in
            try body(unsafe bytes.bindMemory(to: UInt8.self).span)
        }
    }

    /// The payload without a copy.
    /// - Parameter body: must not keep the bytes, nor settle the batch.
    public func withUnsafePayload<Value, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        unsafe try batch.read(index) { event throws(Failure) in unsafe try body(event.payload) }
    }

    /// As `withUnsafePayload`, for the message id.
    public func withUnsafeMessageID<Value, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        unsafe try batch.read(index) { event throws(Failure) in unsafe try body(event.event.pointee.message_id.bytes) }
    }
}

extension penstock_string {
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: data, count: length) }
}
