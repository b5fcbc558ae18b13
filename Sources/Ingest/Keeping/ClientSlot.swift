import Events
import Platform

/// The place of one client in the memory that outlives the process, and what is done with it. Belongs to the client's
/// event loop; a new one, to the accepting thread first.
final class ClientSlot: AppendWitness {
    /// Bytes of a client's area.
    static let area = 1 << 20
    /// While input waits for its commit, at most this much of it leaves the kernel. It lets a client go on whose socket's
    /// buffer is full, and bounds the memory of a client that has no unfinished line.
    private static let ahead = 64 << 10
    /// With this many bytes, the socket's buffer may be nearly full. (A byte that is sent alone takes as much of it as
    /// some hundred bytes that are sent at once.)
    private static let many = 16 << 10
    private static let few = 1 << 10
    private static let fewPeeks = 8

    let index: Int
    let record: ClientRecord
    private let memory: KeptMemory
    private let place: Int
    private let onRelease: (ClientSlot) -> Void
    /// The offset of the first byte of the input that the stream is about to get.
    var base: UInt64 = 0
    private var intended = ClientRecord.Entry(offset: 0, end: 0, state: ClientRecord.State())
    private var peeks = 0
    /// Bytes of the area whose pages may exist.
    private var touched = 0

    init(
        _ index: Int, _ record: ClientRecord, _ memory: KeptMemory, area place: Int,
        onRelease: @escaping (ClientSlot) -> Void
    ) {
        self.index = index
        self.record = record
        self.memory = memory
        self.place = place
        self.onRelease = onRelease
    }

    // MARK: Appending

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

    func notePeeked(_ count: Int) {
        record.notePeeked(count)
        peeks += 1
    }

    /// The position that the loop must wait for, so that the client is not kept from sending; nil: it can be settled
    /// with the next turn.
    var awaitedEnd: UInt64? {
        record.unread >= Self.few || peeks >= Self.fewPeeks || !record.hasRoom ? record.awaitedEnd : nil
    }

    /// Consumes what is settled, if that is worth a call.
    /// - Parameters:
    ///   - scratch: its contents are lost.
    ///   - isQuiet: the socket has no more input now.
    func settle(_ socket: borrowing FileDescriptor, durable: UInt64, isQuiet: Bool, _ scratch: inout [UInt8]) {
        record.settle(durable: durable)
        guard record.unread > 0 else { return }
        if !record.isWaiting {
            // All that is left is the beginning of a line or a request, or waits for its answer to be read.
            if isQuiet || record.unread >= Self.many {
                consume(socket, upTo: record.peeked, loses: record.restart == record.settled, &scratch)
            }
        } else if record.unread >= Self.many || record.waiting > Int(ClientRecord.entries) / 2 {
            let ahead = max(0, Self.ahead - record.kept)
            let target = max(record.restart, record.consumed) + UInt64(ahead)
            consume(socket, upTo: max(record.restart, record.unread >= 2 * Self.many ? target : 0), &scratch)
        }
    }

    private func consume(
        _ socket: borrowing FileDescriptor, upTo target: UInt64, loses: Bool = false, _ scratch: inout [UInt8]
    ) {
        // A message with descriptors ends a read early.
        while let next = record.begin(upTo: target, area: Self.area, loses: loses) {
            let count = memory.receive(
                from: socket, dropping: next.dropped, &scratch, keeping: next.kept, at: place + next.place)
            record.finish(count)
            peeks = 0
            touched = max(touched, next.place + next.kept)
            if count == 0 { break }
        }
    }

    /// Frees memory that is not used, if the client is idle.
    func rest() {
        guard touched > 0, record.kept == 0 else { return }
        memory.forget(place, touched)
        touched = 0
    }

    // MARK: After a restart

    /// Makes the socket of an earlier process ready.
    /// - Returns: the bytes from `record.restart` on that have left the kernel; nil: the client cannot go on.
    func resume(_ socket: borrowing FileDescriptor) -> [UInt8]? {
        if record.hasUncertainAnswer || (record.isHTTP && record.isCut(area: Self.area)) { return nil }
        touched = Self.area
        if record.consumed < record.restart {
            let count = Int(record.restart - record.consumed)
            guard socket.setPeekOffset(count) else { return nil }
            record.notePeeked(count)
            var scratch = [UInt8](repeating: 0, count: 64 << 10)
            consume(socket, upTo: record.restart, &scratch)
            guard record.consumed == record.restart else { return nil }
            touched = 0
        }
        guard socket.setPeekOffset(0) else { return nil }
        guard record.kept > 0, !record.isCut(area: Self.area) else { return [] }
        return memory.bytes(place + Int(record.restart - record.keptFrom), record.kept)
    }

    /// Gives the place back: the connection is closed.
    func release() {
        record.end()
        if touched > 0 { memory.forget(place, touched) }
        onRelease(self)
    }
}
