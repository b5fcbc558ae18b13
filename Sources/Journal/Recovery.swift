import Platform
import Telemetry

/// Finds out, at the start, what the segments hold. Every segment but the last says so itself in
/// its seal; only those without one are read.
///
/// It never truncates and never writes below a byte that was valid, and what it finds damaged it
/// leaves as it is, but for a copy: the damage is told as a gap, read over, and told again at the
/// next start, as long as nobody has put the file in order.
struct Recovery {
    struct Result {
        var segments: [Segment]
        /// The last segment, where it can be written on: behind `offset` it holds zeros only.
        var current: (segment: Segment, file: SegmentFile)?
        /// The position of the next event.
        var next: UInt64
        /// Live cursors in the segments that were read.
        var cursors = FoundLiveCursors()
    }

    let site: JournalSite
    let quarantine: Quarantine
    /// The position below which everything existed and was durable, as far as other files tell: the
    /// cursors, and the durable end that is kept with them.
    let known: UInt64

    private static let largestPosition: UInt64 = 1 << 62

    /// - Parameter names: of the files in the directory.
    func run(_ names: [String]) throws(JournalError) -> Result {
        let positions = names.compactMap(Segment.position(ofName:)).sorted()
        guard !positions.isEmpty || known == 0 else {
            throw JournalError(
                .inconsistent,
                "journal: \(site.directory) has held events up to position \(known), but has no segments: restore the"
                    + " segment files, or move the directory away to start an empty journal")
        }
        // Beyond it, positions would begin anew at 0 one day, below every cursor.
        guard max(positions.last ?? 0, known) <= Self.largestPosition else {
            throw JournalError(
                .inconsistent,
                "journal: position \(max(positions.last ?? 0, known)) in \(site.directory) is beyond \(Self.largestPosition), which no"
                    + " journal reaches: remove the segment of that name, or restore the cursors from a backup")
        }
        do throws(SystemError) {
            var result = Result(segments: [], current: nil, next: positions.first ?? 0)
            for (index, position) in positions.enumerated() {
                if index + 1 < positions.count {
                    try recover(position, following: positions[index + 1], &result)
                } else {
                    try recoverLast(position, &result)
                }
            }
            // A segment that was made just before the crash may have its name in memory only.
            try site.syncDirectory(site.directory, .recoveryDirectorySync)
            return result
        } catch {
            throw JournalError("read the segments", error)
        }
    }

    /// Refuses to read segments when no batch in them is of this journal and at least one is of another: the manifest
    /// does not belong to them then, and all of their events would count as damaged.
    ///
    /// Damage and interrupted writes alone are no reason to refuse, however much is lost.
    func refuseForeign(_ names: [String]) throws(JournalError) {
        let positions = names.compactMap(Segment.position(ofName:))
        let isForeign = try journal("read the segments") { () throws(SystemError) in
            var isForeign = false
            for position in positions {
                let file = try site.disk.open(site.path(Segment.name(position)), .readOnly)
                let size = try file.size()
                let seed = site.seed(position)
                if try Seal.read(file, fileSize: size, seed) != nil { return false }
                var walker = SegmentWalker(file, seed: seed, limit: size, verifying: false)
                switch try walker.next() {
                case .batch, .hole(_, .some, _): return false
                case .hole, .end: break
                }
                for offset in [0, size - Segment.sealSize] where !isForeign {
                    isForeign = try ForeignBatch.isWhole(in: file, at: offset, fileSize: size)
                }
            }
            return isForeign
        }
        guard !isForeign else {
            throw JournalError(
                .inconsistent,
                "journal: no segment in \(site.directory) belongs to journal \(site.uuid), which the manifest names: restore"
                    + " the manifest that belongs to them, or move the directory away to start an empty journal")
        }
    }

    /// A segment that another one follows: everything below that one's name was durable once.
    private func recover(_ position: UInt64, following: UInt64, _ result: inout Result) throws(SystemError) {
        let path = site.path(Segment.name(position))
        // Past the page cache: what is read here once would cost more to keep than to read.
        let file = try site.disk.openDirect(path, .readOnly)
        let size = try file.size()
        let seed = site.seed(position)
        // A seal that reaches into the next segment was written to a file that then failed: what lies above
        // was written again there, and may not be whole here.
        if let seal = try Seal.read(file, fileSize: size, seed),
            seal.endPosition <= following || !site.protections.contains(.sealBelowNextSegment)
        {
            result.segments.append(sealed(position, path, size, seal))
            if seal.endPosition < following {
                let missing = seal.endPosition..<following
                quarantine.report(Gap(positions: missing, reason: .segmentMissing, path: path, bytes: 0..<0), file: nil)
            }
            return
        }
        let scan = try SegmentScan(file, seed, first: position, limit: size, following: following)
        let gaps = scan.gaps(in: path, durable: following) + scan.missingEnd(in: path, upTo: following, fileSize: size)
        for gap in gaps { quarantine.report(gap, file: file) }
        result.cursors.add(scan.cursors)
        let segment = Segment(
            firstPosition: position, path: path, fileSize: size, readable: scan.validLength, end: scan.end, sealed: true,
            earliest: scan.earliest, latest: scan.latest)
        result.segments.append(segment)
        if gaps.isEmpty { seal(segment, scan, durable: scan.end) }
    }

    private func recoverLast(_ position: UInt64, _ result: inout Result) throws(SystemError) {
        let path = site.path(Segment.name(position))
        let file = try site.disk.openDirect(path, .readWrite)
        let size = try file.size()
        let seed = site.seed(position)
        if let seal = try Seal.read(file, fileSize: size, seed) {
            // It was written just before the end, perhaps, and may be in memory only, with what it seals.
            let scan = try SegmentScan(file, seed, first: position, limit: seal.validLength, following: nil)
            result.cursors.add(scan.cursors)
            try rewrite(scan.unsyncedFrom..<size, of: file)
            try site.sync(file, .recoverySync)
            result.segments.append(sealed(position, path, size, seal))
            result.next = max(seal.endPosition, known)
            if seal.endPosition < known {
                let missing = seal.endPosition..<known
                quarantine.report(Gap(positions: missing, reason: .endMissing, path: path, bytes: 0..<0), file: nil)
            }
            return
        }
        let scan = try SegmentScan(file, seed, first: position, limit: size, following: nil)
        result.cursors.add(scan.cursors)
        // What kill -9 left in the page cache must be on disk before anybody hears of it.
        try rewrite(scan.unsyncedFrom..<scan.validLength, of: file)
        try site.sync(file, .recoverySync)
        let durable = max(known, scan.durable)
        let gaps = scan.gaps(in: path, durable: durable) + scan.missingEnd(in: path, upTo: durable, fileSize: size)
        for gap in gaps { quarantine.report(gap, file: file) }
        result.next = max(scan.end, durable)
        if size != site.options.segmentSize {
            site.telemetry.emit(JournalSegmentSize(path: path, size: size, expected: site.options.segmentSize, end: scan.end))
        }

        let torn = scan.end < durable ? nil : scan.tornTail(fileSize: size)
        if let torn {
            site.telemetry.emit(JournalTornTail(path: path, length: scan.validLength))
            if scan.validLength == 0 {
                // The next segment gets the same name and takes the place of this one. Until then, readers find the journal's end
                // here, also those whose next events are gone.
                setAside(file, torn)
                result.segments.append(
                    Segment(firstPosition: position, path: path, fileSize: size, readable: 0, end: position, sealed: true))
                return
            }
        }
        let segment = Segment(
            firstPosition: position, path: path, fileSize: size, readable: scan.validLength, end: scan.end, sealed: false,
            earliest: scan.earliest, latest: scan.latest)
        result.segments.append(segment)
        let isInterrupted = gaps.contains { $0.reason == .interrupted }
        let isTorn = torn != nil && site.protections.contains(.sealTornTail)
        if isTorn || isInterrupted || scan.end < durable || size != site.options.segmentSize {
            segment.seal()
            // Later batches would say that what was interrupted had been durable; the seal knows better.
            if gaps.isEmpty || isInterrupted { seal(segment, scan, durable: isInterrupted ? durable : scan.end) }
        } else {
            result.current = (
                segment, try SegmentFile(try site.disk.openDirect(path, .readWrite), offset: scan.validLength))
        }
    }

    /// Writes once more what may be in memory only: a sync that failed before the kill has made the kernel call
    /// lost pages clean, and no later sync would write them. Whole blocks, with the bytes that they have.
    private func rewrite(_ range: Range<Int>, of file: any DiskFile) throws(SystemError) {
        guard site.protections.contains(.rewriteTail), !range.isEmpty else { return }
        var offset = range.lowerBound / AlignedMemory.alignment * AlignedMemory.alignment
        var piece: [UInt8] = []
        while offset < range.upperBound {
            piece.removeAll(keepingCapacity: true)
            let wanted = min(1 << 20, (range.upperBound - offset + AlignedMemory.alignment - 1) / AlignedMemory.alignment * AlignedMemory.alignment)
            let got = try file.read(wanted, at: offset, appendingTo: &piece)
            // In a file that was cut off, what is left of its last block is no journal's.
            let whole = got / AlignedMemory.alignment * AlignedMemory.alignment
            if whole == 0 { return }
            let memory = AlignedMemory(count: whole)
            memory.write(piece.span.extracting(first: whole), at: 0)
            try file.write(memory.bytes, at: offset)
            offset += whole
        }
    }

    private func sealed(_ position: UInt64, _ path: String, _ size: Int, _ seal: Seal) -> Segment {
        Segment(
            firstPosition: position, path: path, fileSize: size, readable: seal.validLength, end: seal.endPosition,
            sealed: true, durable: seal.durablePosition, earliest: seal.earliest, latest: seal.latest)
    }

    /// Keeps a copy of what is in a segment of which nothing is whole. The file stays where it is until the next segment takes
    /// its name: without that name, the segment in front could be read beyond its end (if it failed, and was sealed then).
    private func setAside(_ file: any DiskFile, _ torn: Range<Int>) {
        do throws(SystemError) { try quarantine.copy(torn, of: file) } catch {
            // Nobody was told of these events: that must not keep the daemon down.
            site.telemetry.emit(JournalFile(detail: "a torn write could not be copied to quarantine/: \(error)"))
        }
    }

    /// Writes down what was found, so that it need not be found again. Without it nothing is lost.
    private func seal(_ segment: Segment, _ scan: SegmentScan, durable: UInt64) {
        let offset = segment.capacity
        // In a file that was cut off, the last bytes may be a batch's.
        let isFree = segment.fileSize == site.options.segmentSize || scan.tail?.upperBound ?? 0 <= offset
        guard offset >= scan.validLength, isFree else { return }
        let seal = Seal(
            validLength: scan.validLength, endPosition: scan.end, durablePosition: durable,
            earliest: scan.earliest, latest: scan.latest)
        do throws(SystemError) {
            let file = try site.disk.open(segment.path, .readWrite)
            try file.write(seal.encoded(site.seed(segment), at: offset, now: site.clock.wallClock()).span, at: offset)
            try site.sync(file, .recoverySealSync)
        } catch {
            site.telemetry.emit(JournalFile(detail: "\(segment.path) could not be sealed, and will be read again: \(error)"))
        }
    }
}
