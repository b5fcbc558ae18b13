import Events
import Platform
import Synchronization

/// Memory in which batches are built exactly as they will lie in the segment. It has one owner at a time: the append
/// queue's lock while the queue has it, then the writer. Threads that have reserved a place in it copy their events
/// there without the lock, and the writer waits for them (`isFilled`).
@safe final class CommitBuffer: CommitMemory, @unchecked Sendable {
    /// One batch in the buffer.
    struct Mark {
        var header: BatchHeader
        var origin: Origin
        /// The offset of the batch's header in the buffer.
        var offset: Int
        /// The end of its last record, a multiple of eight.
        var end: Int
        /// The batch ends with the position of a lane, and no record may be added to it.
        var lane: LaneRecord?
    }

    let capacity: Int
    private let limits: BatchLimits
    private let allocation: AlignedMemory
    /// The start of the bytes, in the second block of the allocation. Its offset in the block is that of the file, so
    /// that whole blocks can be written without a copy.
    private var memory: UnsafeMutableRawPointer
    private(set) var count = 0
    private(set) var marks: [Mark] = []
    /// How many places are reserved and not filled yet.
    private let filling = Atomic<Int>(0)
    /// Whether the writer waits until there are none.
    private let isAwaited = Atomic<Bool>(false)

    /// - Parameter capacity: bytes; a multiple of eight. The kernel supplies the memory when it is first used.
    init(capacity: Int, limits: BatchLimits) {
        self.capacity = capacity
        self.limits = limits
        // One block in front for bytes that the file's block already holds, one for the offset in the second, one for
        // bytes that are moved (`align`), one after the end for the padding.
        allocation = AlignedMemory(count: capacity + 4 * AlignedMemory.alignment)
        unsafe memory = allocation.memory + AlignedMemory.alignment
    }

    /// Removes all batches.
    /// - Parameter offset: the offset in a file where the bytes will probably be written.
    func removeAll(forOffset offset: Int) {
        let place = offset & (AlignedMemory.alignment - 1)
        unsafe memory = allocation.memory + AlignedMemory.alignment + place
        count = 0
        marks.removeAll(keepingCapacity: true)
    }

    /// Copies the events of a lane and its position into one batch: the queue has checked that they fit.
    func append(
        _ bytes: Span<UInt8>, _ events: Span<ScannedEvent>, of lane: LaneRecord, from origin: Origin, position: UInt64,
        receivedAt: Int64
    ) {
        beginBatch(for: origin, position: position, receivedAt: receivedAt)
        unsafe bytes.withUnsafeBytes { source in
            for index in events.indices {
                let event = events[index]
                let json = Int(event.offset)..<Int(event.offset) + Int(event.length)
                unsafe put(event, UnsafeRawBufferPointer(rebasing: source[json]), 0, at: count)
                count += RecordLayout.size(json.count)
            }
        }
        var record: [UInt8] = []
        lane.append(to: &record)
        append(record)
        marks[marks.count - 1].header.count = UInt32(events.count)
        marks[marks.count - 1].header.flags = lane.flags
        marks[marks.count - 1].lane = lane
        marks[marks.count - 1].lane?.receipt = nil
        marks[marks.count - 1].end = count
    }

    /// A place for events, which are still to be copied there (`fill`). It holds the buffer.
    struct Place {
        fileprivate let buffer: CommitBuffer
        fileprivate let records: RecordPlaces
        fileprivate let delay: UInt16
    }

    /// Reserves the place of events that fit: the queue has checked their size. `fill` must follow.
    func reserve(_ events: Span<ScannedEvent>, from origin: Origin, position: UInt64, receivedAt: Int64) -> Place {
        let delay = openBatch(for: origin, position: position, receivedAt: receivedAt)
        let last = marks[marks.count - 1]
        let first = RecordPlaces(
            offset: count, batch: last.offset, count: last.header.count,
            head: BatchHeader.size + Int(last.header.sourceLength).paddedTo8, limit: limits.batch)
        var next = first
        for index in events.indices {
            let before = next
            if next.beginsBatch(with: events[index]) {
                (count, marks[marks.count - 1].header.count) = (before.offset, before.count)
                beginBatch(for: origin, position: position &+ UInt64(index), receivedAt: receivedAt)
            }
            next.add(events[index])
        }
        (count, marks[marks.count - 1].header.count) = (next.offset, next.count)
        marks[marks.count - 1].end = count
        filling.add(1, ordering: .relaxed)
        return Place(buffer: self, records: first, delay: delay)
    }

    /// Copies events to the place that was reserved for them. Any thread, without the queue's lock.
    /// - Returns: whether the writer waits, and must be woken.
    static func fill(_ place: consuming Place, _ bytes: Span<UInt8>, _ events: Span<ScannedEvent>) -> Bool {
        let buffer = place.buffer
        var (next, delay) = (place.records, place.delay)
        unsafe bytes.withUnsafeBytes { source in
            for index in events.indices {
                let event = events[index]
                if next.beginsBatch(with: event) { delay = 0 }
                let json = Int(event.offset)..<Int(event.offset) + Int(event.length)
                unsafe buffer.put(event, UnsafeRawBufferPointer(rebasing: source[json]), delay, at: next.offset)
                next.add(event)
            }
        }
        guard buffer.filling.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return false }
        return buffer.isAwaited.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// Whether all reserved places are filled. If not, `fill` returns true for the last one, and the writer is woken.
    /// The writer's thread, once no more places are reserved.
    func isFilled() -> Bool {
        if filling.load(ordering: .acquiring) == 0 { return true }
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        guard filling.load(ordering: .sequentiallyConsistent) == 0 else { return false }
        isAwaited.store(false, ordering: .sequentiallyConsistent)
        return true
    }

    /// - Returns: the delay, in milliseconds, of records received now relative to the open batch.
    private func openBatch(for origin: Origin, position: UInt64, receivedAt: Int64) -> UInt16 {
        if let last = marks.last, last.header.endPosition == position, last.origin == origin, last.lane == nil {
            let delay = receivedAt.subtractingReportingOverflow(last.header.receivedAt)
            let milliseconds = delay.partialValue / 1_000_000
            if !delay.overflow, delay.partialValue >= 0, milliseconds <= RecordLayout.maximumDelay {
                return UInt16(milliseconds)
            }
        }
        beginBatch(for: origin, position: position, receivedAt: receivedAt)
        return 0
    }

    private func beginBatch(for origin: Origin, position: UInt64, receivedAt: Int64) {
        if !marks.isEmpty { marks[marks.count - 1].end = count }
        var header = BatchHeader(
            kind: BatchHeader.Kind.events, payloadLength: 0, count: 0, firstPosition: position, durablePosition: 0,
            receivedAt: receivedAt)
        header.uid = origin.uid
        header.gid = origin.gid
        header.pid = origin.pid
        let name = origin.source.utf8
        header.sourceLength = UInt16(clamping: name.count)
        marks.append(Mark(header: header, origin: origin, offset: count, end: count))
        count += BatchHeader.size
        let padded = Int(header.sourceLength).paddedTo8
        precondition(count + padded <= capacity, "the queue has let in more than fits")
        for byte in name.prefix(Int(header.sourceLength)) {
            unsafe memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
            count += 1
        }
        zeroPadding(padded - Int(header.sourceLength))
    }

    /// Adds a batch of live cursors, which takes no position.
    /// - Returns: false if it does not fit.
    func append(cursors payload: [UInt8]) -> Bool {
        guard let last = marks.last, BatchHeader.size + payload.count.paddedTo8 <= capacity - count else {
            return false
        }
        let header = BatchHeader(
            kind: BatchHeader.Kind.cursors, payloadLength: 0, count: 0, firstPosition: last.header.endPosition,
            durablePosition: 0, receivedAt: last.header.receivedAt)
        marks.append(Mark(header: header, origin: last.origin, offset: count, end: count))
        count += BatchHeader.size
        append(payload)
        zeroPadding(payload.count.paddedTo8 - payload.count)
        marks[marks.count - 1].end = count
        return true
    }

    private func append(_ bytes: [UInt8]) {
        precondition(count + bytes.count <= capacity, "the queue has let in more than fits")
        for byte in bytes {
            unsafe memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
            count += 1
        }
    }

    private func zeroPadding(_ bytes: Int) {
        for _ in 0..<bytes {
            unsafe memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
            count += 1
        }
    }

    @inline(__always)
    private func put(_ event: ScannedEvent, _ json: UnsafeRawBufferPointer, _ delay: UInt16, at offset: Int) {
        let size = RecordLayout.size(json.count)
        precondition(offset + size <= capacity, "the queue has let in more than fits")
        let record = unsafe memory + offset
        // Zero the last word as padding; the JSON overwrites its part of it.
        unsafe record.storeBytes(of: 0, toByteOffset: size - 8, as: UInt64.self)
        unsafe record.storeBytes(of: event.length.littleEndian, as: UInt32.self)
        unsafe record.storeBytes(of: event.index.kind.rawValue, toByteOffset: 4, as: UInt8.self)
        unsafe record.storeBytes(of: event.index.flags.rawValue, toByteOffset: 5, as: UInt8.self)
        unsafe record.storeBytes(of: delay.littleEndian, toByteOffset: 6, as: UInt16.self)
        unsafe Self.put(event.index.event, record + 8)
        unsafe Self.put(event.index.messageID, record + 16)
        unsafe Self.put(event.index.userID, record + 24)
        unsafe Self.put(event.index.anonymousID, record + 32)
        if let start = json.baseAddress {
            unsafe (record + RecordLayout.headerSize).copyMemory(from: start, byteCount: json.count)
        }
    }

    @inline(__always)
    private static func put(_ slice: Slice, _ place: UnsafeMutableRawPointer) {
        unsafe place.storeBytes(of: slice.offset.littleEndian, as: UInt32.self)
        unsafe place.storeBytes(of: slice.length.littleEndian, toByteOffset: 4, as: UInt32.self)
    }

    /// Completes a batch for its place in a segment: lengths, checksums, header.
    /// - Parameter offset: the batch's offset in the segment file.
    func complete(_ index: Int, seed: ChecksumSeed, offset: Int, durablePosition: UInt64) {
        let mark = marks[index]
        var header = mark.header
        let length = mark.end - mark.offset - BatchHeader.size
        header.payloadLength = UInt32(length)
        header.durablePosition = durablePosition
        var checksum = seed.at(offset)
        unsafe checksum.update(RawSpan(_unsafeStart: memory + mark.offset + BatchHeader.size, byteCount: length))
        header.payloadChecksum = checksum.value
        let bytes = header.encoded(seed.at(offset))
        unsafe bytes.span.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: memory + mark.offset, count: BatchHeader.size).copyMemory(
                from: $0)
        }
        marks[index].header = header
    }

    /// Moves the batches from a mark on, if need be and possible, so that they can be written without a copy.
    /// - Parameter behind: the number of bytes that precede them in their first block in the file.
    func align(from index: Int, behind: Int) {
        let block = AlignedMemory.alignment
        let start = marks[index].offset
        // Readers may use the batches before, so nothing may be put over them.
        guard start == 0 || behind == 0, case let place = unsafe Int(bitPattern: memory + start) % block,
            place != behind
        else { return }
        let from = unsafe memory + start
        if start == 0 {
            unsafe memory = allocation.memory + block + behind
            unsafe memory.copyMemory(from: from, byteCount: count)
        } else {
            let shift = block - place
            guard unsafe memory - allocation.memory + count + shift + block <= allocation.count else { return }
            unsafe (from + shift).copyMemory(from: from, byteCount: count - start)
            for index in index..<marks.count {
                marks[index].offset += shift
                marks[index].end += shift
            }
            count += shift
        }
    }

    /// Whether a range can be written without a copy, up to the end of its last whole block: its offset within a block
    /// is the same in memory and in the file.
    /// - Parameter behind: the number of bytes that precede the range in the file's first block.
    func canLendBlocks(_ range: Range<Int>, behind: Int, block: Int) -> Bool {
        unsafe (behind == 0 || range.lowerBound == 0) && block == AlignedMemory.alignment
            && Int(bitPattern: memory + range.lowerBound) % AlignedMemory.alignment == behind
    }

    /// Lends a range as whole blocks: the bytes that precede it in the first block, and its own bytes. At the buffer's
    /// end, zeros follow them; elsewhere, what does not fill a block is left out.
    /// - Precondition: `canLendBlocks` returned true for the size of `first`.
    func withBlocks<Failure: Error>(
        _ range: Range<Int>, behind first: Span<UInt8>, block: Int, _ body: (Span<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(canLendBlocks(range, behind: first.count, block: block), "these are not whole blocks")
        let start = unsafe memory + range.lowerBound - first.count
        unsafe first.withUnsafeBytes { bytes in
            if let from = bytes.baseAddress { unsafe start.copyMemory(from: from, byteCount: bytes.count) }
        }
        let used = first.count + range.count
        var whole = used / block * block
        if range.upperBound == count, whole < used {
            whole += block
            unsafe (start + used).initializeMemory(as: UInt8.self, repeating: 0, count: whole - used)
        }
        try body(unsafe Span(_unsafeStart: UnsafePointer(start.assumingMemoryBound(to: UInt8.self)), count: whole))
    }

    /// Lends a range of the bytes.
    func withBytes<Result, Failure: Error>(
        _ range: Range<Int>, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(unsafe bytes(range).span)
    }

    func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        // Not `count`: while a reader has a part, the writer may move the rest.
        let end = capacity + 2 * AlignedMemory.alignment
        precondition(range.lowerBound >= 0 && range.upperBound <= end, "outside of the buffer")
        let start = unsafe UnsafePointer((memory + range.lowerBound).assumingMemoryBound(to: UInt8.self))
        return unsafe UnsafeBufferPointer(start: start, count: range.count)
    }
}
