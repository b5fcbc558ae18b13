import Platform
import Telemetry

/// Decides which segments go: the oldest, when they are older or more than `retain` allows, and
/// never one above the durable cursor of a configured destination. A filesystem that is full takes the oldest
/// of them earlier. One thread at a time.
struct Retention {
    private let site: JournalSite
    private let segments: SegmentList
    private let cursors: CursorTable
    /// The last removal may not be on disk.
    private var hasUnsyncedRemoval = false

    init(site: JournalSite, segments: SegmentList, cursors: CursorTable) {
        self.site = site
        self.segments = segments
        self.cursors = cursors
    }

    /// Removes what may go.
    /// - Parameter needed: bytes wanted for another segment.
    /// - Returns: whether there is room for them below `retain`'s size.
    mutating func run(needed: Int) throws(SystemError) -> Bool {
        guard var floor = cursors.floor else { return true }
        let all = segments.all
        var total = all.reduce(needed) { $0 + $1.fileSize }
        let oldest = site.clock.wallClock() &- site.options.retainTime.inNanoseconds
        var removed = 0
        defer {
            if removed > 0 {
                site.telemetry.emit(JournalSegmentsRemoved(count: removed, first: segments.first?.firstPosition ?? 0))
            }
        }
        // The last one is being written, or was.
        for segment in all.dropLast() {
            let isOld = segment.receiveTimes.latest < oldest &- RecordLayout.maximumDelay * 1_000_000
            let isTooMuch = total > site.options.retainSize
            guard isOld || isTooMuch, segment.isSealed else { break }
            let end = segment.endPosition
            if end > floor {
                guard isTooMuch, site.options.whenFull == .dropOldest else { break }
                for (name, positions) in cursors.push(to: end) {
                    site.telemetry.emit(JournalDroppedOldest(destination: name, positions: positions))
                }
                // A cursor is durable before anything below it goes: the other order is a journal
                // that cannot be opened.
                if site.protections.contains(.commitBeforeRemoval) { try cursors.commit() }
                floor = end
            }
            try remove(segment)
            total -= segment.fileSize
            removed += 1
        }
        return total <= site.options.retainSize
    }

    /// For a filesystem that is full, with `when_full: drop_oldest`: removes the oldest segment, which destinations still
    /// need. They lose what they have not had of it; counted and logged.
    mutating func dropForSpace() throws(SystemError) -> Bool {
        let all = segments.all
        guard all.count > 1, cursors.floor != nil, let oldest = all.first, oldest.isSealed else { return false }
        for (name, positions) in cursors.push(to: oldest.endPosition) {
            site.telemetry.emit(JournalDroppedOldest(destination: name, positions: positions))
        }
        if site.protections.contains(.commitBeforeRemoval) { try cursors.commit() }
        try remove(oldest)
        segments.countRemovedForSpace()
        return true
    }

    /// For a filesystem that is full: removes the oldest segment that is only kept for `retain`, if there is one.
    /// New events are worth more than old ones that every destination has had.
    mutating func removeForSpace() throws(SystemError) -> Bool {
        let all = segments.all
        guard all.count > 1, let floor = cursors.floor, let oldest = all.first, oldest.isSealed, oldest.endPosition <= floor
        else { return false }
        try remove(oldest)
        segments.countRemovedForSpace()
        site.telemetry.emit(JournalSegmentRemovedForSpace(path: oldest.path, end: oldest.endPosition))
        return true
    }

    /// Removes the oldest segment.
    ///
    /// Segments leave the disk in order, so that what a power cut or a failed call leaves has no hole. Such a hole would be
    /// reported as a missing segment. The last removal needs no sync: a power cut brings back one segment, which lies
    /// below every durable cursor and is removed again.
    private mutating func remove(_ oldest: Segment) throws(SystemError) {
        if hasUnsyncedRemoval {
            try site.syncDirectory(site.directory, .removalDirectorySync)
            hasUnsyncedRemoval = false
        }
        segments.removeFirst(oldest)
        do throws(SystemError) { try site.disk.remove(oldest.path) } catch {
            if site.protections.contains(.removalInOrder) { segments.putBack(oldest) }
            throw error
        }
        hasUnsyncedRemoval = true
    }
}
