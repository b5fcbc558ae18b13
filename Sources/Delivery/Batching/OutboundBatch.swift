import Events

/// An event to deliver: routed, transformed and rendered.
package struct OutboundEvent: Sendable {
    /// The journal position. With `part` it is the idempotency key, the same on every retry and replay.
    package var position: UInt64
    /// The index, from 0, among the events that transforms made of the one at `position`.
    package var part: UInt32
    /// When this host received it, in nanoseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    /// When the first host received it: another time than `receivedAt` if it came from another host that told when.
    package var firstReceivedAt: Int64
    package var kind: EventKind
    /// How often it was offered before; 0: this is the first time.
    package var attempt: UInt32
    /// How many requests with this event were answered with "retry"; `retry.attempts` limits this count. A request that
    /// was too large, or whose credential was refused, says nothing about the event and doesn't count.
    package var refusals: UInt32 = 0
    /// A hash of the user's id, or of the anonymous id. Set only with `order: user`.
    package var user: UInt64 = 0
    /// The range of its rendered JSON in the batch's payload, without the line feed.
    package var payload: Range<Int>
    /// The range of its message id in the payload, escapes included; empty if the payload has none.
    package var messageID: Range<Int>
    /// The range in the payload of the contents of its user id, or of its anonymous id if it has no other, with their
    /// escapes. Empty if it has neither, or if nobody has looked: after transforms or a mapping.
    package var userID: Range<Int> = 0..<0
    /// The length of the envelope: bytes directly before `payload` that the router wrote for the destination, which
    /// doesn't send them on. 0: no envelope.
    package var envelope: Int = 0

    package init(
        position: UInt64, part: UInt32 = 0, receivedAt: Int64, firstReceivedAt: Int64? = nil, kind: EventKind,
        attempt: UInt32 = 0, payload: Range<Int>, messageID: Range<Int>
    ) {
        self.position = position
        self.part = part
        self.receivedAt = receivedAt
        self.firstReceivedAt = firstReceivedAt ?? receivedAt
        self.kind = kind
        self.attempt = attempt
        self.payload = payload
        self.messageID = messageID
    }
}

/// The events that a destination is offered together, in journal order. At the first offer, all events of a position
/// are in the same batch. A line feed follows each event's JSON, so the whole payload is NDJSON, unless events have
/// envelopes.
package struct OutboundBatch: Sendable {
    package var payload: [UInt8] = []
    package var events: [OutboundEvent] = []
    /// Set for backfilled events (a replay, dead letters): every live event below is settled. A destination that
    /// records positions records this one instead of the events' own, which lie further back. nil: the events are live.
    package var livePosition: UInt64?

    package init() {}

    /// The envelope that the router wrote for the destination.
    package func envelope(of event: OutboundEvent) -> ArraySlice<UInt8> {
        payload[event.payload.lowerBound - event.envelope..<event.payload.lowerBound]
    }

    /// Appends a copy of another batch's event, its envelope included.
    package mutating func append(_ event: OutboundEvent, from other: borrowing OutboundBatch) {
        var copy = event
        let start = event.payload.lowerBound - event.envelope
        let shift = payload.count - start
        payload.append(contentsOf: other.payload[start..<event.payload.upperBound])
        payload.append(UInt8(ascii: "\n"))
        copy.payload = event.payload.lowerBound + shift..<event.payload.upperBound + shift
        if !event.messageID.isEmpty {
            copy.messageID = event.messageID.lowerBound + shift..<event.messageID.upperBound + shift
        }
        if !event.userID.isEmpty {
            copy.userID = event.userID.lowerBound + shift..<event.userID.upperBound + shift
        }
        events.append(copy)
    }

    package mutating func removeAll() {
        livePosition = nil
        payload.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
    }
}

/// The result of offering one event. `answer` is the beginning of the service's answer, fit to be shown: bounded,
/// printable and without secrets. An event without an outcome is retried.
package enum Outcome: Sendable, Equatable {
    case delivered
    /// Not now. `after`: the shortest wait, as the service asked.
    case retry(reason: String, after: Duration? = nil, answer: String = "")
    /// Never: the event becomes a dead letter, with the service's answer if there is one.
    case rejected(reason: String, answer: String = "")
    /// The batch is larger than the service accepts. It is halved and offered again. A single event becomes `rejected`.
    case tooLarge(reason: String, answer: String = "")
    /// The service accepts none of the batch's events because of at least one, and does not say which. That one is
    /// looked for, and becomes `rejected`.
    case someRejected(reason: String, answer: String = "")
    /// Not the event's fault (a credential is refused). The destination is held: it keeps its events and retries
    /// slowly.
    case hold(reason: String, answer: String = "")
}
