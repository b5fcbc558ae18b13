import Events
import Platform

/// Reads the events of a range of a journal's files in order, for programs that look at many events. It takes no lock,
/// writes nothing, and reads past the page cache, so that it evicts nothing that a daemon on these files needs. It
/// skips damaged batches. It ends with the segments that existed when it was made, however fast a daemon appends. One
/// thread at a time.
package final class StoredRange {
    /// The most gaps that are listed.
    package static let maximumGaps = 1_000

    private struct PlannedSegment {
        var first: UInt64
        /// The next segment's first position. Batches from there on were written again: this file failed.
        var following: UInt64
        /// The bytes to read.
        var size: Int
        /// Whether it follows the segment before it: then a missing position between the two is a gap.
        var continues: Bool
    }

    /// The bytes read, and the bytes of all segments of the range. The last segment counts with the space that is
    /// reserved for it, so reading may end before the total.
    package private(set) var progress = (done: 0, total: 0)
    /// Positions of the range that cannot be read, in order, at most `maximumGaps` of them.
    package private(set) var gaps: [Range<UInt64>] = []
    /// The number of positions that cannot be read.
    package private(set) var missing: UInt64 = 0

    private let directory: String
    private let disk: any Disk
    private let uuid: JournalUUID
    private let range: DumpRange
    private var segments: ArraySlice<PlannedSegment>
    private var walker: SegmentWalker?
    private var current: PlannedSegment?
    /// The expected first position of the next batch.
    private var expected: UInt64 = 0
    private var isOver = false

    /// - Throws: the journal's files cannot be listed.
    init(directory: String, disk: any Disk, uuid: JournalUUID, _ range: DumpRange) throws(JournalError) {
        self.directory = directory
        self.disk = disk
        self.uuid = uuid
        self.range = range
        segments = []
        do throws(SystemError) {
            segments = try plan()[...]
        } catch {
            throw JournalError("list the journal", error)
        }
        progress.total = segments.reduce(0) { $0 + $1.size }
    }

    private func plan() throws(SystemError) -> [PlannedSegment] {
        let positions = try disk.list(directory).compactMap(Segment.position(ofName:)).sorted()
        var planned: [PlannedSegment] = []
        var continues = false
        for (index, position) in positions.enumerated() {
            let following = index + 1 < positions.count ? positions[index + 1] : .max
            if range.isBehind(position) { break }
            // Retention may have removed the file meanwhile.
            guard try disk.status(path(of: position)) != nil else { continue }
            let file = try disk.open(path(of: position), .readOnly)
            let size = try file.size()
            let seal = try Seal.read(file, fileSize: size, seed(of: position))
            guard !range.excludes(position..<following, latest: seal?.latest) else {
                continues = false
                continue
            }
            planned.append(
                PlannedSegment(
                    first: position, following: following, size: seal?.validLength ?? size, continues: continues))
            continues = true
        }
        return planned
    }

    private func path(of segment: UInt64) -> String { directory + "/" + Segment.name(segment) }

    private func seed(of segment: UInt64) -> ChecksumSeed { ChecksumSeed(uuid: uuid, firstPosition: segment) }

    /// Replaces the batch's contents with the next events: about `maximumBytes`, and more only to complete a batch of
    /// the journal. It may hold no event of the range.
    /// - Returns: false at the end.
    package func read(into batch: inout EventBatch, maximumBytes: Int) throws(JournalError) -> Bool {
        batch.removeAll()
        do throws(SystemError) {
            while !isOver, batch.ownBytes.count < maximumBytes {
                guard try open() else { break }
                try step(&batch)
            }
        } catch {
            throw JournalError("read the journal", error)
        }
        return !batch.events.isEmpty || !isOver
    }

    /// - Returns: false if there are no more segments.
    private func open() throws(SystemError) -> Bool {
        while walker == nil {
            guard let segment = segments.popFirst() else {
                isOver = true
                return false
            }
            if !segment.continues { expected = segment.first }
            guard try disk.status(path(of: segment.first)) != nil else {
                progress.done += segment.size
                continue
            }
            let file = try disk.openDirect(path(of: segment.first), .readOnly)
            walker = SegmentWalker(file, seed: seed(of: segment.first), limit: segment.size, verifying: true)
            current = segment
        }
        return true
    }

    /// Reads the next batch of the open segment.
    private func step(_ batch: inout EventBatch) throws(SystemError) {
        guard let before = walker?.offset, let segment = current, let step = try walker?.next() else { return }
        progress.done += (walker?.offset ?? before) - before
        switch step {
        case .end: close(segment)
        case .hole, .batch(_, offset: _, intact: false): break
        case .batch(let header, let offset, intact: true):
            if header.firstPosition >= segment.following { return close(segment) }
            note(missing: expected, before: header)
            expected = max(expected, header.endPosition)
            guard header.kind == BatchHeader.Kind.events, let walker else { return }
            add(header, walker.payload(of: header, at: offset), to: &batch)
        }
    }

    private func close(_ segment: PlannedSegment) {
        progress.done += max(0, segment.size - (walker?.offset ?? segment.size))
        walker = nil
    }

    private func note(missing first: UInt64, before header: BatchHeader) {
        guard header.firstPosition > first,
            !range.excludes(first..<header.firstPosition, latest: header.receivedAt)
        else { return }
        missing += header.firstPosition - first
        if gaps.count < Self.maximumGaps { gaps.append(first..<header.firstPosition) }
    }

    private func add(_ header: BatchHeader, _ payload: RawSpan, to batch: inout EventBatch) {
        let name = Int(header.sourceLength)
        guard name.paddedTo8 <= payload.byteCount else { return }
        let start = batch.ownBytes.count
        batch.ownBytes += payload.array(0..<payload.byteCount)
        let times = ReceiveTimes(header, payload)
        let origin = Origin(
            source: String(decoding: batch.ownBytes[start..<start + name], as: UTF8.self), uid: header.uid,
            gid: header.gid, pid: header.pid, host: times.host)
        if batch.origins.last != origin { batch.origins.append(origin) }
        batch.next = header.endPosition
        var place = name.paddedTo8
        for position in header.firstPosition..<header.endPosition {
            guard let record = RecordLayout.read(payload, at: place, end: payload.byteCount) else { return }
            let receivedAt = times.here(record.delay)
            if range.isBehind(position) { return isOver = true }
            // An event kind of a later version is skipped, as for a destination.
            if let kind = EventKind(rawValue: record.kind), range.contains(position: position, time: receivedAt) {
                batch.events.append(
                    EventRecord(
                        position: position, receivedAt: receivedAt,
                        firstReceivedAt: times.first(Int(position - header.firstPosition), record.delay, in: payload),
                        offset: UInt32(clamping: start + place + RecordLayout.headerSize),
                        length: UInt32(clamping: record.length), origin: UInt32(clamping: batch.origins.count - 1),
                        index: RecordLayout.index(
                            payload, at: place, kind: kind, flags: record.flags, length: record.length)))
            }
            place += RecordLayout.size(record.length)
        }
    }
}

extension StoredEvents {
    /// - Throws: the journal's files cannot be listed.
    package func makeReader(of range: DumpRange) throws(JournalError) -> StoredRange {
        try StoredRange(directory: directory, disk: disk, uuid: uuid, range)
    }
}
