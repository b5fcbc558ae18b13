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
    /// How many events the reader's selection has left out between the event before it in the batch, or the batch's
    /// beginning, and this one.
    @usableFromInline package var leftOutBefore: UInt32 = 0
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
///
/// The events lie in memory of the batch, or in memory that a lender leaves unchanged while the batch refers to it.
// Unchecked: lent bytes do not change, and the lender, who keeps them alive, is Sendable.
@safe @usableFromInline package struct EventBatch: @unchecked Sendable {
    /// The bytes of the events, and any bytes between them in the journal; none while the events are lent.
    @usableFromInline package var ownBytes: [UInt8] = []
    @usableFromInline var lent: UnsafeBufferPointer<UInt8>?
    private var lender: (any AnyObject & Sendable)?
    /// In journal order, without duplicates. Positions may have gaps where the journal was damaged.
    package var events: [EventRecord] = []
    package var origins: [Origin] = []
    /// How many events the reader's selection has left out after the last event of the batch.
    package var leftOutAtEnd: UInt32 = 0
    /// The position at which to continue; above the position of every event in the batch.
    package var next: UInt64 = 0

    package init() {}

    /// Removes the contents but keeps the memory. A loan ends.
    package mutating func removeAll() {
        endLoan()
        ownBytes.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
        origins.removeAll(keepingCapacity: true)
        leftOutAtEnd = 0
    }

    /// No event was read, and none was left out.
    package var isEmpty: Bool { events.isEmpty && leftOutAtEnd == 0 }

    /// The sender of one event; nil: it is not known.
    package func origin(of event: EventRecord) -> Origin? {
        origins.indices.contains(Int(event.origin)) ? origins[Int(event.origin)] : nil
    }

    /// Lets the events lie in the memory of somebody else. The bytes of the batch itself are removed.
    /// - Parameter lender: keeps the bytes where they are, and unchanged, while anybody refers to it.
    @unsafe package mutating func borrow(
        _ lent: UnsafeBufferPointer<UInt8>, from lender: any AnyObject & Sendable
    ) {
        ownBytes.removeAll(keepingCapacity: true)
        unsafe self.lent = lent
        self.lender = lender
    }

    /// Whether the events lie in the memory of somebody else.
    package var isBorrowed: Bool { lender != nil }

    /// Copies lent events into the memory of the batch, for a batch that will not be used up soon: a lender may have no
    /// other memory for new events.
    package mutating func keep() {
        guard let lent = unsafe lent else { return }
        ownBytes.removeAll(keepingCapacity: true)
        unsafe ownBytes.append(contentsOf: lent)
        endLoan()
    }

    private mutating func endLoan() {
        unsafe lent = nil
        lender = nil
    }

    /// The bytes of memory that hold the events.
    package var memorySize: Int { unsafe lent?.count ?? ownBytes.capacity }

    /// A copy of the JSON of one event.
    package func text(of event: EventRecord) -> [UInt8] {
        let json = json(of: event)
        return unsafe json.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// The JSON of one event.
    @_lifetime(borrow self)
    @inlinable @inline(__always)
    package func json(of event: EventRecord) -> Span<UInt8> {
        if let lent = unsafe lent {
            return unsafe _overrideLifetime(lent.span.extracting(event.range), borrowing: self)
        }
        return ownBytes.span.extracting(event.range)
    }
}
