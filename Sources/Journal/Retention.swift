import Platform
import Telemetry

/// Decides which segments go: the oldest, when they are older or more than `retain` allows, and
/// never one above the durable cursor of a configured destination. A filesystem that is full takes the oldest
/// of them earlier. One thread at a time.
struct Retention {
    let site: JournalSite
    let segments: SegmentList
    let cursors: CursorTable

    /// Removes what may go.
    /// - Parameter needed: bytes wanted for another segment.
    /// - Returns: whether there is room for them below `retain`'s size.
    func run(needed: Int) throws(SystemError) -> Bool {
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
            segments.removeFirst(segment)
            try site.disk.remove(segment.path)
            total -= segment.fileSize
            removed += 1
        }
        // The directory needs no sync: a segment that a power cut brings back is below every cursor that is
        // on disk, and goes again.
        return total <= site.options.retainSize
    }

    /// For a filesystem that is full: removes the oldest segment that is only kept for `retain`, if there is one.
    /// New events are worth more than old ones that every destination has had.
    func removeForSpace() throws(SystemError) -> Bool {
        let all = segments.all
        guard all.count > 1, let floor = cursors.floor, let oldest = all.first, oldest.isSealed, oldest.endPosition <= floor
        else { return false }
        segments.removeFirst(oldest)
        try site.disk.remove(oldest.path)
        segments.countRemovedForSpace()
        site.telemetry.emit(JournalSegmentRemovedForSpace(path: oldest.path, end: oldest.endPosition))
        return true
    }
}
