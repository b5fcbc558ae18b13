import Platform
import Telemetry

/// Finds out, at the start, what the segments hold. Every segment but the last says so itself in
/// its seal; only those without one are read.
///
/// It never truncates and never writes below a byte that was valid. What it finds damaged is told
/// as a gap, and read over.
struct Recovery {
    struct Result {
        var segments: [Segment]
        /// The last segment, where it can be written on: behind `offset` it holds zeros only.
        var current: (segment: Segment, file: SegmentFile)?
        /// The position of the next event.
        var next: UInt64
    }

    /// What reading a segment from its first byte found.
    private struct Scan {
        var validLength = 0
        var end: UInt64
        var earliest: Int64 = .max
        var latest: Int64 = .min
        /// Bytes behind the last whole batch that are no batch.
        var tail: Range<Int>?
    }

    let site: JournalSite
    let quarantine: Quarantine

    /// - Parameters:
    ///   - names: of the segment files.
    ///   - cursor: the highest position of a cursor: whatever lies below existed.
    func run(_ names: [String], above cursor: UInt64) throws(JournalError) -> Result {
        let positions = names.compactMap(Segment.position(ofName:)).sorted()
        guard !positions.isEmpty || cursor == 0 else {
            throw JournalError(
                .inconsistent,
                "journal: \(site.directory) has cursors up to position \(cursor), but no segments: restore the"
                    + " segment files, or move the directory away to start an empty journal")
        }
        do throws(SystemError) {
            var result = Result(segments: [], current: nil, next: positions.first ?? 0)
            for (index, position) in positions.enumerated() {
                let following = index + 1 < positions.count ? positions[index + 1] : nil
                try recover(position, following: following, cursor, &result)
            }
            // A segment that was made just before the crash may have its name in memory only.
            try site.syncDirectory(site.directory, .recoveryDirectorySync)
            return result
        } catch {
            throw JournalError("read the segments", error)
        }
    }

    private func recover(
        _ position: UInt64, following: UInt64?, _ cursor: UInt64, _ result: inout Result
    ) throws(SystemError) {
        let path = site.path(Segment.name(position))
        // Past the page cache: what is read here once would cost more to keep than to read.
        let file = try site.disk.openDirect(path, following == nil ? .readWrite : .readOnly)
        let size = try file.size()
        let seed = site.seed(position)
        // A seal that reaches into the next segment was written to a file that then failed: what lies above
        // was written again there, and may not be whole here.
        if let seal = try Seal.read(file, fileSize: size, seed), 
            seal.endPosition <= following ?? .max || !site.protections.contains(.sealBelowNextSegment)
        {
            result.segments.append(
                Segment(
                    firstPosition: position, path: path, fileSize: size, readable: seal.validLength,
                    end: seal.endPosition, sealed: true, earliest: seal.earliest, latest: seal.latest))
            finish(end: seal.endPosition, following, cursor, path, seal.validLength..<seal.validLength, file, &result)
            return
        }
        let scan = try scan(file, seed, position, limit: max(0, size - Segment.sealSize), following)
        let segment = Segment(
            firstPosition: position, path: path, fileSize: size, readable: scan.validLength, end: scan.end,
            sealed: following != nil, earliest: scan.earliest, latest: scan.latest)
        let tail = scan.tail ?? scan.validLength..<scan.validLength
        if following != nil {
            result.segments.append(segment)
            finish(end: scan.end, following, cursor, path, tail, file, &result)
            seal(segment, scan)
            return
        }
        // What kill -9 left in the page cache must be on disk before anybody hears of it.
        try site.sync(file, .recoverySync)
        if let torn = scan.tail {
            site.telemetry.emit(JournalTornTail(path: path, length: scan.validLength))
            if scan.validLength == 0 {
                // The next segment gets the same name and takes the place of this one.
                do throws(SystemError) { try quarantine.copy(torn, of: file) } catch {
                    // Nobody was told of these events: a full disk must not keep the daemon down for a copy.
                    site.telemetry.emit(JournalFile(detail: "a torn write could not be copied to quarantine/: \(error)"))
                }
                finish(end: scan.end, nil, cursor, path, torn, nil, &result)
                return
            }
        }
        result.segments.append(segment)
        if scan.tail != nil && site.protections.contains(.sealTornTail) || cursor > scan.end || size != site.options.segmentSize {
            segment.seal()
            seal(segment, scan)
        } else {
            result.current = (
                segment, try SegmentFile(try site.disk.openDirect(path, .readWrite), offset: scan.validLength))
        }
        finish(end: scan.end, nil, cursor, path, tail, nil, &result)
    }

    /// Compares where a segment ends with where the next one begins, or the cursors stand.
    private func finish(
        end: UInt64, _ following: UInt64?, _ cursor: UInt64, _ path: String, _ bytes: Range<Int>, _ file: (any DiskFile)?,
        _ result: inout Result
    ) {
        result.next = max(end, following ?? (site.protections.contains(.nextAboveCursors) ? cursor : end))
        guard end < result.next else { return }
        let reason: Gap.Reason = following == nil ? .endMissing : bytes.isEmpty ? .segmentMissing : .damaged
        quarantine.report(Gap(positions: end..<result.next, reason: reason, path: path, bytes: bytes), file: file)
    }

    private func scan(
        _ file: any DiskFile, _ seed: ChecksumSeed, _ position: UInt64, limit: Int, _ following: UInt64?
    ) throws(SystemError) -> Scan {
        var scan = Scan(end: position)
        var bad: Int?
        var walker = SegmentWalker(file, seed: seed, limit: limit, verifying: true)
        walk: while true {
            switch try walker.next() {
            case .end:
                break walk
            case .batch(let header, let offset, let intact):
                // Written here first, and once more in the next segment, because this file failed.
                if let following, header.firstPosition >= following, site.protections.contains(.batchesBelowNextSegment) {
                    break walk
                }
                guard intact else {
                    bad = bad ?? offset
                    continue
                }
                if let start = bad, scan.end < header.firstPosition {
                    let reason: Gap.Reason = header.durablePosition > scan.end ? .damaged : .interrupted
                    quarantine.report(
                        Gap(
                            positions: scan.end..<header.firstPosition, reason: reason, path: file.path,
                            bytes: start..<offset), file: file)
                }
                bad = nil
                scan.validLength = offset + header.totalSize
                scan.end = header.endPosition
                scan.earliest = min(scan.earliest, header.receivedAt)
                scan.latest = max(scan.latest, header.receivedAt)
            case .hole(let offset, let next, let used):
                if used > offset || next != nil { bad = bad ?? offset }
            }
        }
        if let bad { scan.tail = bad..<max(limit, bad) }
        return scan
    }

    /// Writes down what was found, so that it need not be found again. Without it nothing is lost.
    private func seal(_ segment: Segment, _ scan: Scan) {
        let offset = segment.capacity
        guard offset >= scan.validLength else { return }
        let seal = Seal(validLength: scan.validLength, endPosition: scan.end, earliest: scan.earliest, latest: scan.latest)
        do throws(SystemError) {
            let file = try site.disk.open(segment.path, .readWrite)
            try file.write(seal.encoded(site.seed(segment), at: offset, now: site.clock.wallClock()).span, at: offset)
            try site.sync(file, .recoverySealSync)
        } catch {
            site.telemetry.emit(JournalFile(detail: "\(segment.path) could not be sealed, and will be read again: \(error)"))
        }
    }
}
