import Events

/// The places of records in a commit buffer, one after the other. Those who reserve places and those who fill them
/// count in the same way.
struct RecordPlaces {
    /// The offset of the next record in the buffer.
    private(set) var offset: Int
    /// The offset of the open batch.
    private var batch: Int
    /// The number of records in it.
    private(set) var count: UInt32
    private let head: Int
    private let limit: Int

    /// - Parameters:
    ///   - head: the size of a batch's header and its source's name.
    ///   - limit: the maximum of bytes of a batch with more than one record.
    init(offset: Int, batch: Int, count: UInt32, head: Int, limit: Int) {
        self.offset = offset
        self.batch = batch
        self.count = count
        self.head = head
        self.limit = limit
    }

    /// Goes on in another batch if the event must not be added to the open one.
    @inline(__always)
    mutating func beginsBatch(with event: ScannedEvent) -> Bool {
        guard count > 0, offset - batch + RecordLayout.size(Int(event.length)) > limit else { return false }
        (batch, count) = (offset, 0)
        offset += head
        return true
    }

    @inline(__always)
    mutating func add(_ event: ScannedEvent) {
        offset += RecordLayout.size(Int(event.length))
        count &+= 1
    }
}
