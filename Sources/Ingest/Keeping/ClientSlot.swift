import Events
import Platform

/// The place of one client in the memory that outlives the process. Belongs to the client's event loop; a new one, to
/// the accepting thread first.
final class ClientSlot: AppendWitness {
    /// Bytes of a client's ring: at first, and at most. It grows for a client that fills it, as long as all rings
    /// together stay within `ClientKeeper.mostMemory`.
    static let smallRing = 64 << 10
    static let largeRing = 1 << 20

    let index: Int
    let record: ClientRecord
    private let memory: KeptMemory
    private let place: Int
    private let keeper: ClientKeeper
    /// The offset of the first byte of the input that the stream is about to get.
    var base: UInt64 = 0
    private var intended = ClientRecord.Entry(offset: 0, end: 0, state: ClientRecord.State())
    /// Bytes of the ring whose pages may exist, and what of `mostMemory` it has.
    private var touched = 0
    private var last = 0..<0
    private var granted = 0
    private var wasFull = false
    /// Whether events of a request wait for earlier ones to become durable, and not for room in the journal.
    private(set) var isHeldBack = false

    init(_ index: Int, _ record: ClientRecord, _ memory: KeptMemory, ring place: Int, _ keeper: ClientKeeper) {
        self.index = index
        self.record = record
        self.memory = memory
        self.place = place
        self.keeper = keeper
    }

    // MARK: Appending

    /// Whether a request may append more of its events.
    func mayAppend() -> Bool {
        isHeldBack = !record.hasRoom
        return !isHeldBack
    }

    /// The stream is about to append the events before this place of its input.
    func intend(upTo place: Int, _ state: ClientRecord.State) { intend(offset: base + UInt64(place), state) }

    func intend(offset: UInt64, _ state: ClientRecord.State) {
        intended = ClientRecord.Entry(offset: offset, end: 0, state: state)
    }

    func willQueue(upTo end: UInt64) {
        intended.end = end
        record.add(intended)
    }

    // MARK: Reading

    /// The position that the loop must wait for, because input has to wait; nil: a later turn finds it settled.
    var awaitedEnd: UInt64? { record.hasRoom && record.held < record.size / 2 ? nil : record.awaitedEnd }

    /// Reads once into the ring.
    /// - Returns: also whether the socket has no more now.
    func receive(from socket: borrowing FileDescriptor, limit: Int) -> (received: Received, isShort: Bool) {
        guard record.arm(set: { socket.setPeekOffset($0) }) else { return (.gone, true) }
        resize()
        let (place, count) = record.room(limit)
        let received = memory.receive(from: socket, limit: count, at: self.place + place)
        if case .bytes(let read) = received {
            record.noteRead(read)
            wasFull = wasFull || record.held >= record.size
            touched = max(touched, place + read)
            last = place..<place + read
            return (received, read < count)
        }
        return (received, true)
    }

    /// Passes what the last read has brought.
    func withReceived(_ body: (Span<UInt8>) -> Void) { memory.withBytes(place + last.lowerBound, last.count, body) }

    private func resize() {
        guard wasFull, record.size < Self.largeRing else { return }
        let larger = min(record.size * 4, Self.largeRing)
        let more = larger - record.size
        guard keeper.grant(more) else { return }
        if record.grow(to: larger) {
            granted = larger - Self.smallRing
            wasFull = false
        } else {
            keeper.giveBack(more)
        }
    }

    /// Frees memory that an idle client does not use.
    func rest() {
        guard touched > 0, record.held == 0, record.shrink(to: Self.smallRing) else { return }
        free()
    }

    private func free() {
        if touched > 0 { memory.forget(place, touched) }
        touched = 0
        keeper.giveBack(granted)
        granted = 0
    }

    // MARK: After a restart

    /// Makes the socket of an earlier process ready.
    /// - Returns: the input that was read and is not settled; nil: the client cannot go on.
    func resume(_ socket: borrowing FileDescriptor) -> [UInt8]? {
        if record.hasUncertainAnswer || (record.isHTTP && record.isCut) { return nil }
        touched = record.size
        granted = record.size - Self.smallRing
        keeper.grantAlways(granted)
        guard record.size <= Self.largeRing, record.arm(always: true, set: { socket.setPeekOffset($0) }) else {
            return nil
        }
        return record.heldRanges.reduce(into: []) { $0 += memory.bytes(place + $1.lowerBound, $1.count) }
    }

    /// Gives the place back: the connection is closed.
    func release() {
        record.end()
        free()
        keeper.release(index)
    }
}
