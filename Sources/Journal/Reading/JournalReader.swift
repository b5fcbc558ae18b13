import Events
import Platform

/// Reads durable events in order: whole batches, directly into the caller's memory. It verifies a batch before it
/// returns an event of it. One thread at a time. It shares with the writer only the segment list, each segment's
/// published length, and the recent commits; and with other readers what they read from the disk (SharedReads).
package final class JournalReader {
    /// The maximum of bytes of one read, unless one batch is longer.
    private static let largestRead = 1 << 20

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
    /// Whether it may share reads with them. Not after damage, until a segment is opened again.
    private var mayShare = true
    /// The end of the last read from the disk in this segment. A read that begins here is one of a series.
    private var readEnd: Int?
    /// While it lags: what the disk reads meanwhile.
    private var ahead: ReadAhead?
    private var decoder = BatchDecoder()

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
    /// - Parameter selection: events that it does not take are left out, and counted in the batch. The batch may then
    ///   have no event at all.
    /// - Returns: false if there is no durable event to read now.
    /// - Throws: when a file cannot be read. No event is skipped; the next call tries again.
    package func read(
        into batch: inout EventBatch, maximumBytes: Int, borrows: Bool = false,
        selecting selection: (any EventSelection)? = nil
    ) throws(JournalError) -> Bool {
        decoder.selection = selection
        batch.removeAll()
        batch.next = position
        var begin = position
        do throws(SystemError) {
            while true {
                guard try open() else { return false }
                begin = position
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
                if !batch.isEmpty { return true }
                // A batch of another kind, or damage.
                batch.removeAll()
            }
        } catch {
            // The next call reads again what this batch would have held.
            if !batch.isEmpty { position = begin }
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
        mayShare = true
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
                if batch.isEmpty, !looksAgain() { try passDamage(file, limit: limit, end: end) }
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
                if batch.isEmpty, !looksAgain() { passBatch(header, file) }
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
                decoder.decode(
                    header, unsafe bytes.span.raw, at: place, from: position, &batch.events, &batch.origins,
                    &batch.leftOutAtEnd)
            else { break }
            offset += header.totalSize
            place += header.totalSize
            position = max(position, header.endPosition)
        }
        guard place > 0 else { return false }
        if let reader, place == bytes.count { recent.finish(commit, by: reader) }
        ahead = nil
        // The loan ends here if everything was left out.
        if batch.events.isEmpty { return true }
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
        // Not before it reads from the disk: one that keeps up shares memory. And a segment may be sealed by now.
        if got < count, others == nil, mayShare, let segment, segment.isSealed { others = shared.join(segment) }
        if got < count, let others {
            let shared = others.read(count - got, at: offset + got, appendingTo: &bytes)
            // What this reader has ordered by itself lies behind it soon.
            if shared > 0 { ahead?.forget() }
            got += shared
        }
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
        defer {
            leaveOthers()
            mayShare = false
        }
        return exchange(&cached, with: nil) != nil || others != nil
    }

    /// - Returns: false if the payload is invalid, although its checksum matches.
    private func decode(_ header: BatchHeader, at start: Int, into batch: inout EventBatch) -> Bool {
        // Take the arrays out of the batch while its bytes are borrowed: accesses to both must not overlap.
        var events = exchange(&batch.events, with: [])
        var origins = exchange(&batch.origins, with: [])
        var leftOut = batch.leftOutAtEnd
        let isWhole = decoder.decode(
            header, batch.ownBytes.span.raw, at: start, from: position, &events, &origins, &leftOut)
        batch.leftOutAtEnd = leftOut
        batch.events = events
        batch.origins = origins
        return isWhole
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
