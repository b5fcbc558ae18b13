/// One event as the journal gives it back.
@usableFromInline package struct EventRecord: BitwiseCopyable, Sendable {
    /// The event's number in the journal: the first one ever is 0, the next 1, for ever.
    @usableFromInline package var position: UInt64
    /// When it arrived, in nanoseconds since 1970-01-01 UTC.
    @usableFromInline package var receivedAt: Int64
    /// Where its JSON lies in the batch's bytes.
    @usableFromInline package var offset: UInt32
    @usableFromInline package var length: UInt32
    /// Which of the batch's `origins` sent it.
    @usableFromInline package var origin: UInt32
    @usableFromInline package var index: EventIndex

    @inlinable @inline(__always)
    package init(
        position: UInt64, receivedAt: Int64, offset: UInt32, length: UInt32, origin: UInt32, index: EventIndex
    ) {
        self.position = position
        self.receivedAt = receivedAt
        self.offset = offset
        self.length = length
        self.origin = origin
        self.index = index
    }

    @inlinable @inline(__always)
    package var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }
}

/// A run of events on their way from the journal to one destination. Whoever reads reuses one
/// batch for ever, so that a long run of events costs no allocation.
@usableFromInline package struct EventBatch: Sendable {
    /// The events' bytes, with whatever lies between them in the journal.
    @usableFromInline package var bytes: [UInt8] = []
    /// In journal order, without repetition; positions may have gaps where the journal was
    /// damaged.
    package var events: [EventRecord] = []
    package var origins: [Origin] = []
    /// The position to continue from: above every event in here.
    package var next: UInt64 = 0

    package init() {}

    /// Forgets the contents, keeps the memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
        origins.removeAll(keepingCapacity: true)
    }

    /// The JSON of one event.
    @_lifetime(borrow self)
    @inlinable @inline(__always)
    package func json(of event: EventRecord) -> Span<UInt8> {
        bytes.span.extracting(event.range)
    }
}
