import Events

/// One event on its way out: routed, transformed, rendered.
package struct OutboundEvent: Sendable {
    /// Its journal position: with `part` the idempotency key, the same on every retry and replay.
    package var position: UInt64
    /// Of several events that transforms made of the one at `position`: which one, from 0.
    package var part: UInt32
    /// Nanoseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    package var kind: EventKind
    /// How often it was offered before: 0 the first time.
    package var attempt: UInt32
    /// How many requests with it were refused with "retry": what `retry.attempts` counts. A request that was
    /// too large, or refused for its credential, says nothing about the event and does not count.
    package var refusals: UInt32 = 0
    /// Whose it is: a hash of the user's id, or the anonymous one. Set where `order: user` asks for it.
    package var user: UInt64 = 0
    /// Where its rendered JSON lies in the batch's payload. No line feed in it or counted with it.
    package var payload: Range<Int>
    /// Where the contents of its message id lie in the payload, escapes and all; empty if it has
    /// none there.
    package var messageID: Range<Int>
    /// Bytes right before `payload` that are for the destination alone and not passed on: its envelope,
    /// which the router wrote. 0: none.
    package var envelope: Int = 0

    package init(
        position: UInt64, part: UInt32 = 0, receivedAt: Int64, kind: EventKind, attempt: UInt32 = 0,
        payload: Range<Int>, messageID: Range<Int>
    ) {
        self.position = position
        self.part = part
        self.receivedAt = receivedAt
        self.kind = kind
        self.attempt = attempt
        self.payload = payload
        self.messageID = messageID
    }
}

/// What a destination is given at once: in journal order, and the first time all events of a position
/// together. Each event's JSON is followed by one line feed, so that
/// the payload as a whole is NDJSON, unless events have envelopes.
package struct OutboundBatch: Sendable {
    package var payload: [UInt8] = []
    package var events: [OutboundEvent] = []
    /// Of events that come again beside live delivery (a replay, dead letters): everything live below it is
    /// settled. It is what a destination records in place of their own positions, which lie further back.
    /// nil: the events are live.
    package var livePosition: UInt64?

    package init() {}

    /// What the router wrote for the destination alone.
    package func envelope(of event: OutboundEvent) -> ArraySlice<UInt8> {
        payload[event.payload.lowerBound - event.envelope..<event.payload.lowerBound]
    }

    /// Copies one event of another batch, its envelope included, to the end of this one.
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
        events.append(copy)
    }

    package mutating func removeAll() {
        livePosition = nil
        payload.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
    }
}

/// What became of one event, and the beginning of what the service said about it, fit to be shown:
/// bounded, printable, without secrets. What nobody says anything about is tried again.
package enum Outcome: Sendable, Equatable {
    case delivered
    /// Not now. `after`: no sooner than that, as the service asked.
    case retry(reason: String, after: Duration? = nil, answer: String = "")
    /// Never: to the dead letters, with the service's answer where there was one.
    case rejected(reason: String, answer: String = "")
    /// The batch is larger than the service takes, or something in it is at fault: halved and
    /// offered again; a single event becomes `rejected`.
    case tooLarge(reason: String, answer: String = "")
    /// Not the event's fault (a credential refused): the destination is held, keeps its events
    /// and tries again slowly.
    case hold(reason: String, answer: String = "")
}
