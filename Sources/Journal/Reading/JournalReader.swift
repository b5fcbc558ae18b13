import Events
import Platform

/// Reads durable events in order: whole batches, directly into the caller's memory. It verifies a batch before it
/// returns an event of it. One thread at a time. It shares with the writer only the segment list, each segment's
/// published length, and the recent commits; and with other readers what they read from the disk (SharedReads).
package final class JournalReader {
    /// The maximum of bytes of one read, unless one batch is longer.
    private static let largestRead = 1 << 20
    /// How many bytes ahead to prefetch. Where a record begins is known late, and another processor has written it.
    private static let prefetchDistance = 4096

    private let context: JournalContext
    private let segments: SegmentList
    private let quarantine: Quarantine
    private let recent: RecentCommits
    private let shared: SharedReads
    /// The position of the next event to read.
    package private(set) var position: UInt64

    private var segment: Segment?
    /// Reads past the page cache. A reader that keeps up reads from memory, and bytes that are read once are cheaper to
    /// read this way.
    private var file: (any DiskFile)?
    /// The same file, for pages that are already in the page cache; only for a sealed segment.
    private var cached: (any DiskFile)?
    private var seed: ChecksumSeed
    /// The offset of the next batch in the segment.
    private var offset = 0
    /// The readers of the same segment; only for a sealed one.
    private var others: SegmentReads?
    /// The end of the last read from the disk in this segment. A read that begins here is one of a series.
    private var readEnd: Int?
    /// While it lags: what the disk reads meanwhile.
    private var ahead: ReadAhead?
    private var origin: Origin?

    init(
        _ context: JournalContext, _ segments: SegmentList, _ quarantine: Quarantine, _ recent: RecentCommits,
        _ shared: SharedReads, from position: UInt64
    ) {
        self.context = context
        self.segments = segments
        self.quarantine = quarantine
        self.recent = recent
        self.shared = shared
        self.position = position
        seed = context.seed(0)
    }

    deinit {
        recent.leave(ObjectIdentifier(self))
        if let others { shared.leave(others) }
    }

    /// Replaces the batch's contents with the next events: about `maximumBytes` at most, and more only to complete a
    /// batch (256 KiB, or one larger event).
    /// - Parameter borrows: the events may stay in the journal's memory until the batch is read into again or kept
    ///   (`EventBatch.keep`), which must be soon; and under full load, commits wait a moment for this reader.
    /// - Returns: false if there is no durable event to read now.
    /// - Throws: when a file cannot be read. No event is skipped; the next call tries again.
    package func read(
        into batch: inout EventBatch, maximumBytes: Int, borrows: Bool = false
    ) throws(JournalError) -> Bool {
        batch.removeAll()
        batch.next = position
        do throws(SystemError) {
            while true {
                guard try open() else { return false }
                guard let segment, let file else { return false }
                // Read the end before the readable length: then it is never behind the readable bytes.
                let sealed = segment.isSealed
                let end = segment.endPosition
                let limit = segment.readableBytes
                if offset >= limit {
                    guard sealed, let next = following(segment) else { return false }
                    leave(for: next)
                    continue
                }
                try fill(&batch, file, limit: limit, end: end, maximumBytes: maximumBytes, borrows: borrows)
                batch.next = position
                if !batch.events.isEmpty { return true }
                // A batch of another kind, or damage.
                batch.removeAll()
            }
        } catch {
            // The next call reads again from the first event of this batch.
            if let first = batch.events.first { position = first.position }
            close()
            batch.removeAll()
            batch.next = position
            throw JournalError("read a segment", error)
        }
    }

    /// Continues at the end of what is durable now. This costs no look at the events that are passed over.
    /// - Returns: the number of positions passed over.
    package func skipToEnd() throws(JournalError) -> UInt64 {
        let before = position
        guard let last = segments.last else { return 0 }
        do throws(SystemError) {
            if segment !== last {
                close()
                // At a segment's first position, no batch is looked for.
                position = last.firstPosition
                guard try open(), segment === last else { return 0 }
            }
            // Read the end last: it may then lie above the next batch's first positions, which are passed over as the
            // result says. Below, they would be missing in the result.
            offset = max(offset, last.readableBytes)
            position = max(before, last.endPosition)
            readEnd = nil
            return position - before
        } catch {
            close()
            position = before
            throw JournalError("read a segment", error)
        }
    }

    // MARK: - Finding the place

    /// - Returns: false if there is no segment yet.
    private func open() throws(SystemError) -> Bool {
        if file != nil { return true }
        guard let segment = segments.containing(position) else { return false }
        // The page cache saves time only: reading works without it.
        cached = segment.isSealed ? try? context.disk.open(segment.path, .readOnly) : nil
        let file = try context.disk.openDirect(segment.path, .readOnly)
        seed = context.seed(segment)
        offset = 0
        if position > segment.firstPosition {
            offset = try find(position, in: segment, try context.disk.open(segment.path, .readOnly))
        } else {
            position = segment.firstPosition
        }
        readEnd = nil
        self.segment = segment
        self.file = file
        if segment.isSealed { others = shared.join(segment) }
        return true
    }

    /// The segment to continue with. If a file failed before anything in it was durable, the next segment has the same
    /// first position.
    private func following(_ segment: Segment) -> Segment? {
        if let here = segments.containing(position), here !== segment, here.firstPosition >= segment.firstPosition {
            return here
        }
        return segments.after(segment)
    }

    private func leave(for next: Segment) {
        // Recovery has reported a gap between two segments.
        position = max(position, next.firstPosition)
        close()
    }

    private func close() {
        ahead?.forget()
        segment = nil
        file = nil
        cached = nil
        leaveOthers()
    }

    private func leaveOthers() {
        if let others { shared.leave(others) }
        others = nil
    }

    /// The offset of the batch that holds the position. Payloads are not verified.
    private func find(_ position: UInt64, in segment: Segment, _ file: any DiskFile) throws(SystemError) -> Int {
        let limit = segment.readableBytes
        if position >= segment.endPosition { return limit }
        var walker = SegmentWalker(file, seed: seed, limit: limit, verifying: false)
        // If the position lies in a hole, reading starts at the hole, so that the gap is reported.
        var hole: Int?
        while true {
            switch try walker.next() {
            case .batch(let header, let offset, _) where header.endPosition > position:
                return header.firstPosition > position ? hole ?? offset : offset
            case .batch: hole = nil
            case .hole(let offset, let next, _):
                hole = hole ?? offset
                if next == nil { return offset }
            case .end: return limit
            }
        }
    }

    // MARK: - Reading

    /// Reads bytes of the segment and decodes the whole batches in them.
    private func fill(
        _ batch: inout EventBatch, _ file: any DiskFile, limit: Int, end: UInt64, maximumBytes: Int, borrows: Bool
    ) throws(SystemError) {
        let wanted = min(max(maximumBytes, BatchHeader.size), Self.largestRead, limit - offset)
        if readRecent(wanted, into: &batch, limit: limit, borrows: borrows) { return }
        var got = try take(wanted, file, at: offset, appendingTo: &batch.ownBytes)
        var place = 0
        while place < got || got == 0 {
            if got - place < BatchHeader.size {
                // A header that the read has cut off is read first by the next read. At the first place, the file
                // itself ends too early.
                if place == 0, !looksAgain() { try passDamage(file, limit: limit, end: end) }
                return
            }
            guard let header = BatchHeader(batch.ownBytes.span.raw, at: place, seed.at(offset)),
                header.totalSize <= limit - offset
            else {
                if batch.events.isEmpty, !looksAgain() { try passDamage(file, limit: limit, end: end) }
                return
            }
            let missing = place + header.totalSize - got
            if missing > 0 {
                // Read the rest of the last batch now, instead of all of it with the next read.
                got += try take(missing, file, at: offset + header.totalSize - missing, appendingTo: &batch.ownBytes)
            }
            guard header.payloadIsIntact(in: batch.ownBytes.span.raw, headerAt: place, seed.at(offset)),
                decode(header, at: place, into: &batch)
            else {
                if batch.events.isEmpty, !looksAgain() { passBatch(header, file) }
                return
            }
            offset += header.totalSize
            place += header.totalSize
            position = max(position, header.endPosition)
            if missing > 0 { return }
        }
    }

    /// Decodes whole batches in the memory of the recent commits. This process built them: checksums are for what lies
    /// on the disk.
    /// - Parameter wanted: bytes.
    /// - Returns: false if the next batch is not there.
    private func readRecent(_ wanted: Int, into batch: inout EventBatch, limit: Int, borrows: Bool) -> Bool {
        let reader = borrows ? ObjectIdentifier(self) : nil
        guard let segment, let commit = recent.lend(segment, at: offset, to: reader) else { return false }
        let bytes = unsafe commit.bytes
        let readable = min(bytes.count, limit - offset)
        var place = 0
        while place < min(wanted, readable) {
            guard let header = BatchHeader(unsafe bytes.span.raw, at: place, seed.at(offset)),
                header.totalSize <= readable - place,
                decode(header, unsafe bytes.span.raw, at: place, &batch.events, &batch.origins)
            else { break }
            offset += header.totalSize
            place += header.totalSize
            position = max(position, header.endPosition)
        }
        guard place > 0 else { return false }
        if let reader, place == bytes.count { recent.finish(commit, by: reader) }
        ahead = nil
        unsafe batch.borrow(UnsafeBufferPointer(rebasing: bytes[..<place]), from: commit)
        if !borrows || commit.isScarce { batch.keep() }
        return true
    }

    /// Reads bytes of the segment.
    private func take(
        _ count: Int, _ file: any DiskFile, at offset: Int, appendingTo bytes: inout [UInt8]
    ) throws(SystemError) -> Int {
        var got = cached?.readCached(count, at: offset, appendingTo: &bytes) ?? 0
        // Where nothing is in the page cache, the rest of the segment mostly is not either, and looking costs time. Not
        // in the middle of a batch, whose beginning may have come from there (`looksAgain`).
        if got == 0, bytes.isEmpty { cached = nil }
        if got < count, let others { got += others.read(count - got, at: offset + got, appendingTo: &bytes) }
        guard got < count else { return got }
        // The bytes of a sealed segment never change, so they may be read before they are needed.
        let isNext = readEnd == offset + got && segment?.isSealed == true
        readEnd = offset + count
        return got
            + (isNext
                ? try file.readNext(count - got, at: offset + got, ahead: &ahead, appendingTo: &bytes)
                : try file.read(count - got, at: offset + got, appendingTo: &bytes))
    }

    /// Stops using the page cache and what others read. Bytes that look damaged there may be whole on disk.
    /// - Returns: whether to read the same place again, from the disk.
    private func looksAgain() -> Bool {
        defer { leaveOthers() }
        return exchange(&cached, with: nil) != nil || others != nil
    }

    /// - Returns: false if the payload is invalid, although its checksum matches.
    private func decode(_ header: BatchHeader, at start: Int, into batch: inout EventBatch) -> Bool {
        // Take the arrays out of the batch while its bytes are borrowed: accesses to both must not overlap.
        var events = exchange(&batch.events, with: [])
        var origins = exchange(&batch.origins, with: [])
        let isWhole = decode(header, batch.ownBytes.span.raw, at: start, &events, &origins)
        batch.events = events
        batch.origins = origins
        return isWhole
    }

    private func decode(
        _ header: BatchHeader, _ bytes: RawSpan, at start: Int, _ events: inout [EventRecord], _ origins: inout [Origin]
    ) -> Bool {
        guard header.kind == BatchHeader.Kind.events else { return true }
        let begin = start + BatchHeader.size
        let end = begin + Int(header.payloadLength)
        let times = ReceiveTimes(header, bytes.extracting(begin..<end), at: begin)
        note(header, bytes.extracting(begin..<begin + Int(header.sourceLength)), times.host, in: &origins)
        return decode(
            header, times, bytes, from: begin + Int(header.sourceLength).paddedTo8, to: end,
            origin: UInt32(truncatingIfNeeded: origins.count - 1), into: &events)
    }

    private func decode(
        _ header: BatchHeader, _ times: ReceiveTimes, _ bytes: RawSpan, from start: Int, to end: Int, origin: UInt32,
        into events: inout [EventRecord]
    ) -> Bool {
        let before = events.count
        let wanted = position
        var place = start
        var next = header.firstPosition
        for _ in 0..<header.count {
            guard let record = RecordLayout.read(bytes, at: place, end: end) else {
                events.removeSubrange(before...)
                return false
            }
            // An event kind of a later version is skipped, but takes its position.
            if next >= wanted, let kind = EventKind(rawValue: record.kind) {
                events.append(
                    EventRecord(
                        position: next, receivedAt: times.here(record.delay),
                        firstReceivedAt: times.first(Int(next &- header.firstPosition), record.delay, in: bytes),
                        offset: UInt32(truncatingIfNeeded: place + RecordLayout.headerSize),
                        length: UInt32(truncatingIfNeeded: record.length), origin: origin,
                        index: RecordLayout.index(
                            bytes, at: place, kind: kind, flags: record.flags, length: record.length)))
            }
            let size = RecordLayout.size(record.length)
            bytes.prefetch(from: place + Self.prefetchDistance, count: min(size, Self.prefetchDistance))
            place += size
            next &+= 1
        }
        return true
    }

    /// Records the origin of a batch. A source's name is copied only when it changes.
    private func note(_ header: BatchHeader, _ name: RawSpan, _ host: String?, in origins: inout [Origin]) {
        let last = origins.last ?? origin
        if let last, last.uid == header.uid, last.gid == header.gid, last.pid == header.pid,
            last.host == host, Self.equal(last.source, name)
        {
            if origins.isEmpty { origins.append(last) }
        } else {
            let source = String(decoding: name.array(0..<name.byteCount), as: UTF8.self)
            let new = Origin(source: source, uid: header.uid, gid: header.gid, pid: header.pid, host: host)
            origins.append(new)
            origin = new
        }
    }

    private static func equal(_ text: String, _ bytes: RawSpan) -> Bool {
        var index = 0
        for byte in text.utf8 {
            guard index < bytes.byteCount, bytes.number(UInt8.self, at: index) == byte else { return false }
            index += 1
        }
        return index == bytes.byteCount
    }

    // MARK: - Damage

    /// Continues after bytes that are no batch.
    private func passDamage(_ file: any DiskFile, limit: Int, end: UInt64) throws(SystemError) {
        guard segment != nil else { return }
        var walker = SegmentWalker(file, seed: seed, from: offset, limit: limit, verifying: false)
        var next: (offset: Int, position: UInt64) = (limit, end)
        switch try walker.next() {
        case .hole(_, let found?, _):
            if case .batch(let header, _, _) = try walker.next() { next = (found, header.firstPosition) }
        case .batch:
            // The batch is whole at the second look. The first read failed, and is repeated.
            throw SystemError.truncated("pread", file.path)
        default: break
        }
        pass(to: next.position, bytes: offset..<next.offset, file)
        offset = next.offset
    }

    /// Continues after a batch whose payload has changed.
    private func passBatch(_ header: BatchHeader, _ file: any DiskFile) {
        pass(to: header.endPosition, bytes: offset..<offset + header.totalSize, file)
        offset += header.totalSize
    }

    private func pass(to next: UInt64, bytes: Range<Int>, _ file: any DiskFile) {
        if next > position {
            let durable = segment?.durable ?? .max
            for gap in Gap.missing(position..<next, durable: durable, path: file.path, bytes: bytes) {
                quarantine.report(gap, file: file)
            }
            position = next
        }
    }
}
