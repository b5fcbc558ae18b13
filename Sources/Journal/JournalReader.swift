import Events
import Glibc
import Platform

/// Reads durable events in order: whole batches, straight into the caller's memory, each checked
/// before an event of it is shown. One thread at a time. Nothing is shared with the writer but
/// the segment's readable length.
package final class JournalReader {
    /// Bytes that one read takes at most, unless one batch is longer.
    private static let largestRead = 1 << 20

    private let site: JournalSite
    private let segments: SegmentList
    private let quarantine: Quarantine
    private let recent: RecentCommits
    /// The next event wanted.
    package private(set) var position: UInt64

    private var segment: Segment?
    /// Past the page cache: whoever keeps up reads from memory, and what is read once costs less so.
    private var file: (any DiskFile)?
    /// The same, for what others have left in the page cache: of a sealed segment only.
    private var cached: (any DiskFile)?
    private var seed: ChecksumSeed
    /// Of the next batch in the segment.
    private var offset = 0
    private var origin: Origin?

    init(_ site: JournalSite, _ segments: SegmentList, _ quarantine: Quarantine, _ recent: RecentCommits, from position: UInt64) {
        self.site = site
        self.segments = segments
        self.quarantine = quarantine
        self.recent = recent
        self.position = position
        seed = site.seed(0)
    }

    /// Replaces the batch's contents with the next events: at most about `maximumBytes` of them,
    /// more only to end a batch (256 KiB, or one larger event).
    /// - Returns: false if there is nothing durable to read now.
    /// - Throws: when a file cannot be read; nothing is skipped, the next call tries again.
    package func read(into batch: inout EventBatch, maximumBytes: Int) throws(JournalError) -> Bool {
        batch.removeAll()
        batch.next = position
        do throws(SystemError) {
            while true {
                guard try open() else { return false }
                guard let segment, let file else { return false }
                // The end first: it is never behind the bytes that follow then.
                let sealed = segment.isSealed
                let end = segment.endPosition
                let limit = segment.readableBytes
                if offset >= limit {
                    guard sealed, let next = following(segment) else { return false }
                    leave(for: next)
                    continue
                }
                try fill(&batch, file, limit: limit, end: end, maximumBytes: maximumBytes)
                batch.next = position
                if !batch.events.isEmpty { return true }
                // A batch of a kind that is not ours, or damage.
                batch.removeAll()
            }
        } catch {
            // What was begun is read again.
            if let first = batch.events.first { position = first.position }
            self.segment = nil
            file = nil
            cached = nil
            batch.removeAll()
            batch.next = position
            throw JournalError("read a segment", error)
        }
    }

    // MARK: - Finding the place

    /// - Returns: false if there is no segment yet.
    private func open() throws(SystemError) -> Bool {
        if file != nil { return true }
        guard let segment = segments.containing(position) else { return false }
        // Without it nothing is lost but time.
        cached = segment.isSealed ? try? site.disk.open(segment.path, .readOnly) : nil
        let file = try site.disk.openDirect(segment.path, .readOnly)
        seed = site.seed(segment)
        offset = 0
        if position > segment.firstPosition {
            offset = try find(position, in: segment, try site.disk.open(segment.path, .readOnly))
        } else {
            position = segment.firstPosition
        }
        self.segment = segment
        self.file = file
        return true
    }

    /// Where to go on. A file that failed before anything in it was durable is followed by another
    /// segment of its own position.
    private func following(_ segment: Segment) -> Segment? {
        if let here = segments.containing(position), here !== segment, here.firstPosition >= segment.firstPosition {
            return here
        }
        return segments.after(segment)
    }

    private func leave(for next: Segment) {
        // A gap between two segments was told at the start.
        position = max(position, next.firstPosition)
        segment = nil
        file = nil
        cached = nil
    }

    /// The offset of the batch that holds the position; payloads are passed over.
    private func find(_ position: UInt64, in segment: Segment, _ file: any DiskFile) throws(SystemError) -> Int {
        let limit = segment.readableBytes
        if position >= segment.endPosition { return limit }
        var walker = SegmentWalker(file, seed: seed, limit: limit, verifying: false)
        // Where the position lies in a hole, reading begins with that: so it is told.
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

    /// Reads a piece of the segment and decodes the whole batches in it.
    private func fill(
        _ batch: inout EventBatch, _ file: any DiskFile, limit: Int, end: UInt64, maximumBytes: Int
    ) throws(SystemError) {
        let wanted = min(max(maximumBytes, BatchHeader.size), Self.largestRead, limit - offset)
        var got = try take(wanted, file, at: offset, appendingTo: &batch.bytes)
        var place = 0
        while place < got || got == 0 {
            if got - place < BatchHeader.size {
                // A header that the read has cut off is the next read's first; in the first place
                // it is one that the file has lost.
                if place == 0, !looksAgain() { try passDamage(file, limit: limit, end: end) }
                return
            }
            guard let header = BatchHeader(batch.bytes.span.raw, at: place, seed.at(offset)),
                header.totalSize <= limit - offset
            else {
                if batch.events.isEmpty, !looksAgain() { try passDamage(file, limit: limit, end: end) }
                return
            }
            let missing = place + header.totalSize - got
            if missing > 0 {
                // The rest of the last batch, rather than all of it again with the next read.
                got += try take(missing, file, at: offset + header.totalSize - missing, appendingTo: &batch.bytes)
            }
            guard header.payloadIsIntact(in: batch.bytes.span.raw, headerAt: place, seed.at(offset)),
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

    /// Bytes of the segment, from memory if they are there; from memory they may be fewer, and end with a
    /// batch.
    private func take(
        _ count: Int, _ file: any DiskFile, at offset: Int, appendingTo bytes: inout [UInt8]
    ) throws(SystemError) -> Int {
        if let segment {
            let got = recent.read(count, segment: segment, at: offset, appendingTo: &bytes)
            if got > 0 { return got }
        }
        let got = cached?.readCached(count, at: offset, appendingTo: &bytes) ?? 0
        return got + (got < count ? try file.read(count - got, at: offset + got, appendingTo: &bytes) : 0)
    }

    /// What looks damaged in the page cache may not be so on the disk.
    /// - Returns: whether to read the same place again, and from the disk.
    private func looksAgain() -> Bool { exchange(&cached, with: nil) != nil }

    /// - Returns: false if the payload does not make sense, though it is what was written.
    private func decode(_ header: BatchHeader, at start: Int, into batch: inout EventBatch) -> Bool {
        guard header.kind == BatchHeader.Kind.events else { return true }
        // Out of the batch while its bytes are looked at, so that the two do not overlap.
        var events = exchange(&batch.events, with: [])
        var origins = exchange(&batch.origins, with: [])
        let isWhole = decode(header, batch.bytes.span.raw, at: start, &events, &origins)
        batch.events = events
        batch.origins = origins
        return isWhole
    }

    private func decode(
        _ header: BatchHeader, _ bytes: RawSpan, at start: Int, _ events: inout [EventRecord], _ origins: inout [Origin]
    ) -> Bool {
        let begin = start + BatchHeader.size
        note(header, bytes.extracting(begin..<begin + Int(header.sourceLength)), in: &origins)
        return decode(
            header, bytes, from: begin + Int(header.sourceLength).paddedTo8, to: begin + Int(header.payloadLength),
            origin: UInt32(truncatingIfNeeded: origins.count - 1), into: &events)
    }

    private func decode(
        _ header: BatchHeader, _ bytes: RawSpan, from start: Int, to end: Int, origin: UInt32,
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
            // A kind of a later version is passed over; its position is taken all the same.
            if next >= wanted, let kind = EventKind(rawValue: record.kind) {
                events.append(
                    EventRecord(
                        position: next, receivedAt: header.receivedAt &+ Int64(record.delay) &* 1_000_000,
                        offset: UInt32(truncatingIfNeeded: place + RecordLayout.headerSize),
                        length: UInt32(truncatingIfNeeded: record.length), origin: origin,
                        index: RecordLayout.index(bytes, at: place, kind: kind, flags: record.flags, length: record.length)))
            }
            place += RecordLayout.size(record.length)
            next &+= 1
        }
        return true
    }

    /// Takes note of who sent a batch. A source's name costs memory only when it changes.
    private func note(_ header: BatchHeader, _ name: RawSpan, in origins: inout [Origin]) {
        let last = origins.last ?? origin
        if let last, last.uid == header.uid, last.gid == header.gid, last.pid == header.pid, Self.equal(last.source, name) {
            if origins.isEmpty { origins.append(last) }
        } else {
            let source = String(decoding: name.array(0..<name.byteCount), as: UTF8.self)
            let new = Origin(source: source, uid: header.uid, gid: header.gid, pid: header.pid)
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

    /// Goes on behind bytes that are no batch.
    private func passDamage(_ file: any DiskFile, limit: Int, end: UInt64) throws(SystemError) {
        guard segment != nil else { return }
        var walker = SegmentWalker(file, seed: seed, from: offset, limit: limit, verifying: false)
        var next: (offset: Int, position: UInt64) = (limit, end)
        switch try walker.next() {
        case .hole(_, let found?, _):
            if case .batch(let header, _, _) = try walker.next() { next = (found, header.firstPosition) }
        case .batch:
            // It is whole at a second look: the first one failed, and is made again.
            throw SystemError("pread", file.path, code: EIO)
        default: break
        }
        pass(to: next.position, bytes: offset..<next.offset, file)
        offset = next.offset
    }

    /// Goes on behind a batch whose contents have changed.
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
