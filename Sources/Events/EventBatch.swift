/// One event as read from the journal.
@usableFromInline package struct EventRecord: BitwiseCopyable, Sendable {
    /// The event's position in the journal. The first event ever has position 0; positions are never reused.
    @usableFromInline package var position: UInt64
    /// When the event arrived, in nanoseconds since 1970-01-01 UTC.
    @usableFromInline package var receivedAt: Int64
    /// When the first host received it: another time than `receivedAt` if it came from another host that told when.
    @usableFromInline package var firstReceivedAt: Int64
    /// Where its JSON starts in the batch's bytes.
    @usableFromInline package var offset: UInt32
    @usableFromInline package var length: UInt32
    /// The index of its sender in the batch's `origins`.
    @usableFromInline package var origin: UInt32
    @usableFromInline package var index: EventIndex

    @inlinable @inline(__always)
    package init(
        position: UInt64, receivedAt: Int64, firstReceivedAt: Int64? = nil, offset: UInt32, length: UInt32,
        origin: UInt32, index: EventIndex
    ) {
        self.position = position
        self.receivedAt = receivedAt
        self.firstReceivedAt = firstReceivedAt ?? receivedAt
        self.offset = offset
        self.length = length
        self.origin = origin
        self.index = index
    }

    @inlinable @inline(__always)
    package var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }
}

/// A run of events on the way from the journal to one destination. A reader reuses one batch forever, so reading
/// allocates no memory.
@usableFromInline package struct EventBatch: Sendable {
    /// The bytes of the events, and any bytes between them in the journal.
    @usableFromInline package var bytes: [UInt8] = []
    /// In journal order, without duplicates. Positions may have gaps where the journal was damaged.
    package var events: [EventRecord] = []
    package var origins: [Origin] = []
    /// The position at which to continue; above the position of every event in the batch.
    package var next: UInt64 = 0

    package init() {}

    /// Removes the contents but keeps the memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
        origins.removeAll(keepingCapacity: true)
    }

    /// The sender of one event; nil: it is not known.
    package func origin(of event: EventRecord) -> Origin? {
        origins.indices.contains(Int(event.origin)) ? origins[Int(event.origin)] : nil
    }

    /// The JSON of one event.
    @_lifetime(borrow self)
    @inlinable @inline(__always)
    package func json(of event: EventRecord) -> Span<UInt8> {
        bytes.span.extracting(event.range)
    }
}
