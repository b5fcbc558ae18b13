import Platform
import Telemetry

/// Recovers the contents of the segments at the start. It trusts seals, and reads only the last segment and segments
/// without a seal.
///
/// Recovery never truncates a file and never changes a valid byte. It copies damaged bytes to quarantine and leaves
/// them in place: the damage is reported as a gap, skipped when reading, and reported again at the next start until
/// somebody repairs the file.
struct Recovery {
    struct Result {
        var segments: [Segment]
        /// The last segment, if the journal can continue to write it: after `offset` it holds only zeros.
        var current: (segment: Segment, file: SegmentFile)?
        /// The position of the next event.
        var next: UInt64
        /// The live cursors in the segments that were read.
        var cursors = FoundLiveCursors()
        /// The lanes in the last segment; nil if its beginning is not whole, so that it cannot be known whether there
        /// are others.
        var lanes: FoundLanes?
    }

    let context: JournalContext
    let quarantine: Quarantine
    /// The position below which all events existed and were durable, according to the other files: the cursors, and the
    /// durable end that is stored with them.
    let known: UInt64

    private static let largestPosition: UInt64 = 1 << 62

    /// - Parameter names: the files in the directory.
    func run(_ names: [String]) throws(JournalError) -> Result {
        let positions = names.compactMap(Segment.position(ofName:)).sorted()
        guard !positions.isEmpty || known == 0 else {
            throw JournalError(
                .inconsistent,
                "journal: \(context.directory) has held events up to position \(known), but has no segments: restore"
                    + " the segment files, or move the directory away to start an empty journal")
        }
        // Above this limit, positions would one day wrap to 0, below every cursor.
        guard max(positions.last ?? 0, known) <= Self.largestPosition else {
            throw JournalError(
                .inconsistent,
                "journal: position \(max(positions.last ?? 0, known)) in \(context.directory) is beyond"
                    + " \(Self.largestPosition), which no journal reaches: remove the segment of that name,"
                    + " or restore the cursors from a backup")
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
            if result.lanes == nil, context.protections.contains(.lanesOfEarlierSegments) {
                result.lanes = try lanes(positions)
            }
            // The name of a segment made just before the crash may not be on disk yet.
            try context.syncDirectory(context.directory, .recoveryDirectorySync)
            return result
        } catch {
            throw JournalError("read the segments", error)
        }
    }

    /// Refuses the segments if no batch in them belongs to this journal and at least one belongs to another: then the
    /// manifest is that of another journal, and all events would count as damaged.
    ///
    /// Damage and interrupted writes alone are no reason to refuse, however much is lost.
    func refuseForeign(_ names: [String]) throws(JournalError) {
        let positions = names.compactMap(Segment.position(ofName:))
        let isForeign = try journal("read the segments") { () throws(SystemError) in
            var isForeign = false
            for position in positions {
                let file = try context.disk.open(context.path(Segment.name(position)), .readOnly)
                let size = try file.size()
                let seed = context.seed(position)
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
                "journal: no segment in \(context.directory) belongs to journal \(context.uuid), which the manifest"
                    + " names: restore the manifest that belongs to them,"
                    + " or move the directory away to start an empty journal")
        }
    }

    /// Recovers a segment that is followed by another one. Every event below the next segment's first position was
    /// durable once.
    private func recover(_ position: UInt64, following: UInt64, _ result: inout Result) throws(SystemError) {
        let path = context.path(Segment.name(position))
        // Past the page cache: these bytes are read once, and caching them would cost more than reading them.
        let file = try context.disk.openDirect(path, .readOnly)
        let size = try file.size()
        let seed = context.seed(position)
        // If the seal ends above the next segment's first position, the file failed after the seal was written. The
        // events above that position were written again to the next segment, and may not be whole here.
        if let seal = try Seal.read(file, fileSize: size, seed),
            seal.endPosition <= following || !context.protections.contains(.sealBelowNextSegment)
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
            firstPosition: position, path: path, fileSize: size, readable: scan.validLength, end: scan.end,
            sealed: true,
            earliest: scan.earliest, latest: scan.latest)
        result.segments.append(segment)
        if gaps.isEmpty { seal(segment, scan, durable: scan.end) }
    }

    private func recoverLast(_ position: UInt64, _ result: inout Result) throws(SystemError) {
        let path = context.path(Segment.name(position))
        let file = try context.disk.openDirect(path, .readWrite)
        let size = try file.size()
        let seed = context.seed(position)
        if let seal = try Seal.read(file, fileSize: size, seed) {
            // The seal may have been written just before the end. It and the batches below it may be in the page cache
            // only.
            let scan = try SegmentScan(file, seed, first: position, limit: seal.validLength, following: nil)
            result.cursors.add(scan.cursors)
            let lacksLanes = noteLanes(of: scan, &result)
            try rewrite(scan.unsyncedFrom..<size, of: file)
            try context.sync(file, .recoverySync)
            var segment = sealed(position, path, size, seal)
            // A power cut during the seal's sync can leave the seal without all events before it. The next start would
            // take them for durable ones, and a source would never offer them again.
            let durable = max(known, scan.durable)
            if lacksLanes, durable < seal.durablePosition, context.protections.contains(.laneSeal) {
                var corrected = seal
                corrected.durablePosition = durable
                try write(corrected, to: segment)
                segment = sealed(position, path, size, corrected)
            }
            result.segments.append(segment)
            result.next = max(seal.endPosition, known)
            if seal.endPosition < known {
                let missing = seal.endPosition..<known
                quarantine.report(Gap(positions: missing, reason: .endMissing, path: path, bytes: 0..<0), file: nil)
            }
            return
        }
        let scan = try SegmentScan(file, seed, first: position, limit: size, following: nil)
        result.cursors.add(scan.cursors)
        // Batches that kill -9 left in the page cache must be on disk before readers or clients see them.
        try rewrite(scan.unsyncedFrom..<scan.validLength, of: file)
        try context.sync(file, .recoverySync)
        let durable = max(known, scan.durable)
        let lacksLanes = noteLanes(of: scan, &result)
        let gaps = scan.gaps(in: path, durable: durable) + scan.missingEnd(in: path, upTo: durable, fileSize: size)
        for gap in gaps { quarantine.report(gap, file: file) }
        result.next = max(scan.end, durable)
        if size != context.options.segmentSize {
            context.telemetry.emit(
                JournalSegmentSize(path: path, size: size, expected: context.options.segmentSize, end: scan.end))
        }

        let torn = scan.end < durable ? nil : scan.tornTail(fileSize: size)
        if let torn {
            context.telemetry.emit(JournalTornTail(path: path, length: scan.validLength))
            if scan.validLength == 0 {
                // The next segment gets the same name and replaces this file. Until then, readers find the journal's
                // end here, including readers whose next events are lost.
                setAside(file, torn)
                result.segments.append(
                    Segment(
                        firstPosition: position, path: path, fileSize: size, readable: 0, end: position, sealed: true))
                return
            }
        }
        let segment = Segment(
            firstPosition: position, path: path, fileSize: size, readable: scan.validLength, end: scan.end,
            sealed: false,
            earliest: scan.earliest, latest: scan.latest)
        result.segments.append(segment)
        let isInterrupted = gaps.contains { $0.reason == .interrupted }
        let isTorn = torn != nil && context.protections.contains(.sealTornTail)
        if isTorn || isInterrupted || scan.end < durable || size != context.options.segmentSize {
            segment.seal()
            // The headers of later batches would say that the interrupted positions were durable. The seal records the
            // correct durable end.
            if gaps.isEmpty || isInterrupted {
                let failure = seal(segment, scan, durable: isInterrupted ? durable : scan.end)
                // Without the seal, the next start would take the missing events for durable ones, and a source would
                // never offer them again.
                if let failure, lacksLanes, context.protections.contains(.laneSeal) { throw failure }
            }
        } else {
            result.current = (
                segment, try SegmentFile(try context.disk.openDirect(path, .readWrite), offset: scan.validLength)
            )
        }
    }

    /// Uses only what the headers in this file say: after an interrupted write, `known` and the next position also
    /// cover what has not arrived.
    /// - Returns: whether positions of lanes do not count because earlier events are missing.
    private func noteLanes(of scan: SegmentScan, _ result: inout Result) -> Bool {
        var lanes = scan.lanes
        let lacks = lanes.finish(durable: scan.durable)
        if scan.beginsWhole { result.lanes = lanes }
        return lacks
    }

    /// Reads the lanes from as many of the last segments as needed, back to one whose beginning is whole.
    private func lanes(_ positions: [UInt64]) throws(SystemError) -> FoundLanes {
        var first = positions.count
        while first > 0 {
            first -= 1
            let file = try context.disk.openDirect(context.path(Segment.name(positions[first])), .readOnly)
            var walker = SegmentWalker(
                file, seed: context.seed(positions[first]), limit: try file.size(), verifying: true)
            guard case .batch(let header, _, intact: true) = try walker.next() else { continue }
            var start = SegmentStart(header)
            if !start.isWhole, case .batch(let next, let offset, intact: true) = try walker.next() {
                start.note(next, at: offset)
            }
            if start.isWhole { break }
        }
        var lanes = FoundLanes(context.protections)
        for index in first..<positions.count {
            let file = try context.disk.openDirect(context.path(Segment.name(positions[index])), .readOnly)
            let size = try file.size()
            let seed = context.seed(positions[index])
            let following = index + 1 < positions.count ? positions[index + 1] : nil
            let seal = try Seal.read(file, fileSize: size, seed)
            let scan = try SegmentScan(
                file, seed, first: positions[index], limit: seal?.validLength ?? size, following: following,
                lanes: lanes)
            lanes = scan.lanes
            lanes.finish(durable: following == nil ? scan.durable : seal?.durablePosition ?? scan.durable)
        }
        return lanes
    }

    /// Writes again the bytes that may be in the page cache only. A sync that failed before the kill can have marked
    /// lost pages clean, and no later sync would write them. It writes whole blocks with their current bytes.
    private func rewrite(_ range: Range<Int>, of file: any DiskFile) throws(SystemError) {
        guard context.protections.contains(.rewriteTail), !range.isEmpty else { return }
        var offset = range.lowerBound / AlignedMemory.alignment * AlignedMemory.alignment
        var piece: [UInt8] = []
        while offset < range.upperBound {
            piece.removeAll(keepingCapacity: true)
            let wanted = min(
                1 << 20,
                (range.upperBound - offset + AlignedMemory.alignment - 1) / AlignedMemory.alignment
                    * AlignedMemory.alignment)
            let got = try file.read(wanted, at: offset, appendingTo: &piece)
            // In a file that was cut off, the rest of the last block holds no batch.
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

    /// Copies the contents of a segment without a whole batch to quarantine. The file stays in place until the next
    /// segment takes its name. Without that name, the previous segment could be read beyond its end, if it failed and
    /// was sealed then.
    private func setAside(_ file: any DiskFile, _ torn: Range<Int>) {
        do throws(SystemError) { try quarantine.copy(torn, of: file) } catch {
            // These events were not known to be durable, so a failed copy must not keep the daemon from starting.
            context.telemetry.emit(JournalFile(detail: "a torn write could not be copied to quarantine/: \(error)"))
        }
    }

    private func write(_ seal: Seal, to segment: Segment) throws(SystemError) {
        let offset = segment.capacity
        let file = try context.disk.open(segment.path, .readWrite)
        try file.write(
            seal.encoded(context.seed(segment), at: offset, now: context.clock.wallClock()).span, at: offset)
        try context.sync(file, .recoverySealSync)
    }

    /// Seals a segment with the results of the scan, so that the next start need not read it. If this fails, nothing is
    /// lost.
    /// - Returns: why it is not sealed; nil: it is, or need not be.
    @discardableResult
    private func seal(_ segment: Segment, _ scan: SegmentScan, durable: UInt64) -> SystemError? {
        let offset = segment.capacity
        // In a file that was cut off, the last bytes may belong to a batch.
        let isFree = segment.fileSize == context.options.segmentSize || scan.tail?.upperBound ?? 0 <= offset
        guard offset >= scan.validLength, isFree else { return nil }
        let seal = Seal(
            validLength: scan.validLength, endPosition: scan.end, durablePosition: durable,
            earliest: scan.earliest, latest: scan.latest)
        do throws(SystemError) {
            try write(seal, to: segment)
            return nil
        } catch {
            context.telemetry.emit(
                JournalFile(detail: "\(segment.path) could not be sealed; the next start reads it again: \(error)"))
            return error
        }
    }
}
