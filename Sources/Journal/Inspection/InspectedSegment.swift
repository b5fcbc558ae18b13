import Events
import Platform

/// The result of inspecting one segment.
struct InspectedSegment {
    struct TimedGap {
        var gap: Gap
        /// Receive times of the batches before and after, in the same segment.
        var after: Int64?
        var before: Int64?
    }

    private(set) var report: JournalInspection.Segment
    private(set) var gaps: [TimedGap] = []
    /// The position after all events that are known to have been durable.
    private(set) var next: UInt64
    private(set) var lastTime: Int64?
    private(set) var note: String?
    /// Damage without known positions.
    private(set) var problem: String?

    /// - Parameters:
    ///   - following: the next segment's first position.
    ///   - existed: the position below which all events were durable, according to other files.
    ///   - everything: whether to read a sealed segment too.
    init(
        _ context: JournalContext, _ position: UInt64, _ following: UInt64?, existed: UInt64, everything: Bool
    ) throws(SystemError) {
        let path = context.path(Segment.name(position))
        let file = try context.disk.open(path, .readOnly)
        let size = try file.size()
        let seed = ChecksumSeed(uuid: context.uuid, firstPosition: position)
        let seal = try Seal.read(file, fileSize: size, seed).flatMap { $0.endPosition <= following ?? .max ? $0 : nil }
        let scan =
            if seal != nil && !everything {
                SegmentScan?.none
            } else {
                try Self.scan(file, seed, position, following, seal, size)
            }
        let times = (scan?.earliest ?? seal?.earliest ?? .max, scan?.latest ?? seal?.latest ?? .min)
        report = JournalInspection.Segment(
            name: Segment.name(position), state: seal != nil ? .sealed : following == nil ? .current : .unsealed,
            first: position, end: scan?.end ?? seal?.endPosition ?? position, bytes: size,
            usedBytes: scan?.validLength ?? seal?.validLength ?? 0, batches: scan?.batches, events: scan?.events,
            earliest: times.0 <= times.1 ? Timestamp.format(times.0) : nil,
            latest: times.0 <= times.1 ? Timestamp.format(times.1) : nil)
        lastTime = scan?.lastTime ?? seal.map(\.latest)
        // The end of the segment's own events, and the positions missing before the next segment.
        let own = seal?.endPosition ?? following ?? max(existed, scan?.durable ?? 0)
        next = max(own, following ?? existed, report.end)
        if let scan { note(scan, seal, path, own, size, following) }
        if let seal, next > seal.endPosition {
            let reason: Gap.Reason = following == nil ? .endMissing : .segmentMissing
            add(Gap(positions: seal.endPosition..<next, reason: reason, path: path, bytes: 0..<0), after: lastTime)
        }
    }

    private static func scan(
        _ file: any DiskFile, _ seed: ChecksumSeed, _ position: UInt64, _ following: UInt64?, _ seal: Seal?, _ size: Int
    ) throws(SystemError) -> SegmentScan {
        let limit = seal?.validLength ?? size
        let scan = try SegmentScan(file, seed, first: position, limit: limit, following: following)
        guard seal == nil, !scan.holes.isEmpty else { return scan }
        // Batches may have arrived at offsets that were already read; a second scan finds them.
        return try SegmentScan(file, seed, first: position, limit: limit, following: following)
    }

    private mutating func note(
        _ scan: SegmentScan, _ seal: Seal?, _ path: String, _ own: UInt64, _ size: Int, _ following: UInt64?
    ) {
        for hole in scan.holes {
            let durable = seal?.durablePosition ?? own
            for gap in Gap.missing(hole.positions, durable: durable, path: path, bytes: hole.bytes) {
                add(gap, after: hole.after, before: hole.before)
            }
        }
        if let seal {
            guard scan.end < seal.endPosition else { return }
            let bytes = scan.validLength..<max(seal.validLength, scan.validLength)
            for gap in Gap.missing(scan.end..<seal.endPosition, durable: seal.durablePosition, path: path, bytes: bytes)
            {
                add(gap, after: scan.lastTime)
            }
            return
        }
        if following == nil, size % 4096 != 0 || size < JournalOptions.minimumSegmentSize {
            problem =
                "\(report.name): \(size) bytes is not a valid segment size: the file was cut off, and events"
                + " from position \(scan.end) on may be missing"
        }
        let missing = scan.missingEnd(in: path, upTo: own, fileSize: size)
        for gap in missing { add(gap, after: scan.lastTime) }
        if following == nil, missing.isEmpty, let tail = scan.tornTail(fileSize: size) {
            note =
                "\(report.name): \(tail.count) byte\(tail.count == 1 ? "" : "s") after the last whole batch: a write"
                + " in progress, or an interrupted write"
        }
    }

    private mutating func add(_ gap: Gap, after: Int64? = nil, before: Int64? = nil) {
        gaps.append(TimedGap(gap: gap, after: after, before: before))
    }
}
