import Platform

/// The result of reading a whole file of batches: a segment, or a file of dead letters. Recovery, the dead letters and
/// the inspection share it, so they report the same for the same bytes.
struct SegmentScan {
    /// Positions that are missing between two whole batches, and the bytes that should hold them.
    struct Hole: Equatable {
        var positions: Range<UInt64>
        var bytes: Range<Int>
        /// Receive times of the whole batches before and after, in nanoseconds since 1970-01-01 UTC; `after` is nil if
        /// there is no batch before.
        var after: Int64?
        var before: Int64
    }

    /// The end of the last whole batch.
    private(set) var validLength = 0
    /// The position after the last event of the last whole batch.
    private(set) var end: UInt64
    /// The highest durable position that a header in this file records.
    private(set) var durable: UInt64 = 0
    private(set) var earliest: Int64 = .max
    private(set) var latest: Int64 = .min
    private(set) var batches = 0
    /// Batches from this offset on may not have been synced. The headers of the last batches record that everything
    /// below was durable.
    var unsyncedFrom: Int { unsynced.first?.offset ?? 0 }
    private var unsynced: [(position: UInt64, offset: Int)] = []
    /// The number of positions in whole batches.
    private(set) var events: UInt64 = 0
    private let first: UInt64
    private(set) var holes: [Hole] = []
    /// The live cursors in whole batches.
    private(set) var cursors = FoundLiveCursors()
    /// The lanes in whole batches.
    private(set) var lanes: FoundLanes
    /// Whether a whole batch lies at the file's beginning, and another one behind it if it is of lanes with marks. If
    /// the journal had lanes when the file was begun, they are there.
    var beginsWhole: Bool { start?.isWhole ?? false }
    private var start: SegmentStart?
    /// The receive time of the last whole batch.
    private(set) var lastTime: Int64?
    /// Bytes after the last whole batch that are no batch, up to the last byte that is not zero.
    private(set) var tail: Range<Int>?

    /// Reads up to `limit`, or up to the first batch that the next file holds too: then this file failed, and its later
    /// batches were written again to the next file.
    /// - Parameters:
    ///   - first: the position in the file's name.
    ///   - following: the first position of the next file, if there is one.
    ///   - lanes: what earlier files say; nil: unknown, or there are none.
    init(
        _ file: any DiskFile, _ seed: ChecksumSeed, first: UInt64, limit: Int, following: UInt64?,
        lanes: FoundLanes? = nil
    ) throws(SystemError) {
        self.first = first
        self.lanes = lanes ?? FoundLanes(seed.protections)
        end = first
        var bad: Range<Int>?
        var walker = SegmentWalker(file, seed: seed, limit: limit, verifying: true)
        walk: while true {
            switch try walker.next() {
            case .end:
                break walk
            case .batch(let header, let offset, let intact):
                if let following, header.firstPosition >= following, seed.protections.contains(.batchesBelowNextSegment)
                {
                    break walk
                }
                durable = max(durable, header.durablePosition)
                self.lanes.note(durable: durable)
                let behind = offset + header.totalSize
                if intact {
                    note(header, at: offset, behind: bad)
                    if offset == 0 { start = SegmentStart(header) } else { start?.note(header, at: offset) }
                    noteContents(of: header, walker.payload(of: header, at: offset))
                    bad = nil
                } else {
                    bad = (bad?.lowerBound ?? offset)..<behind
                }
            case .hole(let offset, let next, let used):
                if used > offset || next != nil {
                    bad = (bad?.lowerBound ?? offset)..<max(used, bad?.upperBound ?? used)
                }
            }
        }
        tail = bad
    }

    private mutating func noteContents(of header: BatchHeader, _ payload: RawSpan) {
        switch header.kind {
        case BatchHeader.Kind.cursors: cursors.add(entries: payload)
        case BatchHeader.Kind.lanes: lanes.note(table: payload)
        case BatchHeader.Kind.marks: lanes.note(marks: payload)
        case BatchHeader.Kind.events where header.flags & LaneRecord.flag != 0:
            guard let record = LaneRecord(endOf: payload, flags: header.flags) else { return }
            let source = String(decoding: payload.array(0..<Int(header.sourceLength)), as: UTF8.self)
            lanes.note(record, header, of: source, durable: durable)
        default: break
        }
    }

    private mutating func note(_ header: BatchHeader, at offset: Int, behind bad: Range<Int>?) {
        if end < header.firstPosition {
            holes.append(
                Hole(
                    positions: end..<header.firstPosition, bytes: (bad?.lowerBound ?? offset)..<offset, after: lastTime,
                    before: header.receivedAt))
        }
        unsynced.append((header.firstPosition, offset))
        if let index = unsynced.lastIndex(where: { $0.position <= header.durablePosition }) {
            unsynced.removeFirst(index)
        }
        validLength = offset + header.totalSize
        end = header.endPosition
        earliest = min(earliest, header.receivedAt)
        latest = max(latest, header.receivedAt)
        lastTime = header.receivedAt
        batches += 1
        events &+= UInt64(header.count)
    }

    /// The positions in whole batches.
    var numbers: RangeSet<UInt64> {
        var numbers = RangeSet(first..<max(first, end))
        for hole in holes { numbers.remove(contentsOf: hole.positions) }
        return numbers
    }

    /// The holes as gaps.
    /// - Parameter durable: the position below which everything was durable. Missing positions below it were damaged;
    ///   missing positions above it are not known to have been on disk.
    func gaps(in path: String, durable: UInt64) -> [Gap] {
        holes.flatMap { Gap.missing($0.positions, durable: durable, path: path, bytes: $0.bytes) }
    }

    /// The gap after the last whole batch, given that everything below `position` was durable.
    /// - Parameter position: the next segment's first position, or the durable end according to other files.
    func missingEnd(in path: String, upTo position: UInt64, fileSize: Int) -> [Gap] {
        guard end < position else { return [] }
        guard let tail = tornTail(fileSize: fileSize) else {
            // Only zeros: the file is an older copy, or this range was never written.
            return [Gap(positions: end..<position, reason: .endMissing, path: path, bytes: validLength..<validLength)]
        }
        return [Gap(positions: end..<position, reason: .damaged, path: path, bytes: tail)]
    }

    /// The tail, unless it lies in the place of the seal only.
    func tornTail(fileSize: Int) -> Range<Int>? {
        guard let tail, tail.lowerBound < fileSize - Segment.sealSize else { return nil }
        return tail
    }
}

extension Gap {
    /// One gap, or two if only the first part of the range was durable.
    static func missing(_ positions: Range<UInt64>, durable: UInt64, path: String, bytes: Range<Int>) -> [Gap] {
        let border = min(max(durable, positions.lowerBound), positions.upperBound)
        return [
            Gap(positions: positions.lowerBound..<border, reason: .damaged, path: path, bytes: bytes),
            Gap(positions: border..<positions.upperBound, reason: .interrupted, path: path, bytes: bytes),
        ].filter { !$0.positions.isEmpty }
    }
}
