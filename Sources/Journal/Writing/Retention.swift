import Platform
import Telemetry

/// Decides which segments to remove: the oldest, when they are older or their total is larger than `retain` allows, and
/// never one above the durable cursor of a configured destination, unless `drop_oldest` moves that cursor first. On a
/// full filesystem the oldest such segments are removed earlier. One thread at a time.
struct Retention {
    private let context: JournalContext
    private let segments: SegmentList
    private let cursors: CursorTable
    private let lanes: LaneTable
    /// The last removal may not be on disk yet.
    private var hasUnsyncedRemoval = false

    init(context: JournalContext, segments: SegmentList, cursors: CursorTable, lanes: LaneTable) {
        self.lanes = lanes
        self.context = context
        self.segments = segments
        self.cursors = cursors
    }

    /// Removes the segments that `retain` does not keep.
    /// - Parameter needed: the bytes wanted for another segment.
    /// - Returns: whether they fit below `retain`'s size.
    mutating func run(needed: Int) throws(SystemError) -> Bool {
        guard var floor = cursors.floor else { return true }
        let all = segments.all
        var total = all.reduce(needed) { $0 + $1.fileSize }
        let oldest = context.clock.wallClock() &- context.options.retainTime.inNanoseconds
        var removed = 0
        defer {
            if removed > 0 {
                context.telemetry.emit(
                    JournalSegmentsRemoved(count: removed, first: segments.first?.firstPosition ?? 0))
            }
        }
        // The last segment is being written, or was.
        for segment in all.dropLast() {
            let isOld = segment.receiveTimes.latest < oldest &- RecordLayout.maximumDelay * 1_000_000
            let isTooMuch = total > context.options.retainSize
            guard isOld || isTooMuch, segment.isSealed else { break }
            let end = segment.endPosition
            guard mayGo(segment, all) else {
                // It stays for its lanes alone, until a later segment has an event: it must not be in the way of that.
                if end <= floor || context.options.whenFull == .dropOldest { total -= segment.fileSize }
                break
            }
            if end > floor {
                guard isTooMuch, context.options.whenFull == .dropOldest else { break }
                for (name, positions) in cursors.push(to: end) {
                    context.telemetry.emit(JournalDroppedOldest(destination: name, positions: positions))
                }
                // A cursor is durable before a segment below it is removed. The other order leaves a journal that
                // cannot be opened after a crash.
                if context.protections.contains(.commitBeforeRemoval) { try cursors.commit() }
                floor = end
            }
            try remove(segment)
            total -= segment.fileSize
            removed += 1
        }
        return total <= context.options.retainSize
    }

    /// For a full filesystem with `when_full: drop_oldest`: removes the oldest segment although destinations still need
    /// it. They lose the events in it that they have not received; the loss is counted and logged.
    mutating func dropForSpace() throws(SystemError) -> Bool {
        let all = segments.all
        guard all.count > 1, cursors.floor != nil, let oldest = all.first, oldest.isSealed, mayGo(oldest, all) else {
            return false
        }
        for (name, positions) in cursors.push(to: oldest.endPosition) {
            context.telemetry.emit(JournalDroppedOldest(destination: name, positions: positions))
        }
        if context.protections.contains(.commitBeforeRemoval) { try cursors.commit() }
        try remove(oldest)
        segments.countRemovedForSpace()
        return true
    }

    /// For a full filesystem: removes the oldest segment that only `retain` keeps, if there is one. New events are
    /// worth more than old events that every destination has settled.
    mutating func removeForSpace() throws(SystemError) -> Bool {
        let all = segments.all
        guard all.count > 1, let floor = cursors.floor, let oldest = all.first, oldest.isSealed,
            oldest.endPosition <= floor, mayGo(oldest, all)
        else { return false }
        try remove(oldest)
        segments.countRemovedForSpace()
        context.telemetry.emit(JournalSegmentRemovedForSpace(path: oldest.path, end: oldest.endPosition))
        return true
    }

    /// Whether no lane's position would be lost with the segment: a later segment begins with all lanes. It has an
    /// event: an empty segment may be replaced by one of the same name.
    private func mayGo(_ oldest: Segment, _ all: [Segment]) -> Bool {
        lanes.isEmpty || !context.protections.contains(.laneRetention)
            || all.drop { $0 !== oldest }.dropFirst().contains { $0.endPosition > $0.firstPosition }
    }

    /// Removes the oldest segment.
    ///
    /// Segments leave the disk in order, so a power cut or a failed call leaves no hole in the journal. Such a hole
    /// would be reported as a missing segment. The last removal needs no sync: a power cut brings back one segment,
    /// which lies below every durable cursor and is removed again.
    private mutating func remove(_ oldest: Segment) throws(SystemError) {
        if hasUnsyncedRemoval {
            try context.syncDirectory(context.directory, .removalDirectorySync)
            hasUnsyncedRemoval = false
        }
        segments.removeFirst(oldest)
        do throws(SystemError) { try context.disk.remove(oldest.path) } catch {
            if context.protections.contains(.removalInOrder) { segments.putBack(oldest) }
            throw error
        }
        hasUnsyncedRemoval = true
    }
}
