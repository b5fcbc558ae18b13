import Events
import Platform
import Telemetry

/// Commits the queued events: one write, one sync, then readers and clients may see them. One thread at a time. `step`
/// waits only for the disk, so the simulator can call it too.
///
/// After a write or sync fails, the writer never writes or syncs that file again: the kernel may have marked the lost
/// pages clean. The events that are not acknowledged are still in memory and go to a fresh segment.
final class JournalWriter: @unchecked Sendable {
    enum Outcome: Equatable {
        case idle
        /// Events are still being copied to the next commit. The last copy rings the doorbell.
        case filling
        case wrote
        /// Events are left that cannot be written now: there is no next segment, or the disk fails.
        case stuck
    }

    private struct Current {
        var segment: Segment
        var file: SegmentFile
        var seed: ChecksumSeed
        /// The offset of the next batch.
        var offset: Int { file.offset }
        /// The offset of the first batch of events.
        var start = 0
        /// The position after the last event written.
        var end: UInt64
        /// As above, for writes that need no retry.
        var committedOffset: Int
        var committedEnd: UInt64
        var hasUnsynced = false
        /// A batch with all live cursors was written to it.
        var hasCursors = false
        var room: Int { segment.capacity - offset }
    }

    private let context: JournalContext
    private let queue: AppendQueue
    private let segments: SegmentList
    private let spare: SpareSegment
    private let ends: JournalEnds
    private let recent: RecentCommits
    private let live: LiveCursorTable
    private let lanes: LaneTable
    private let onDurable: @Sendable (UInt64) -> Void

    /// The maximum of bytes of a batch of live cursors.
    private static let cursorBytes = 4 << 10

    private var current: Current?
    /// Taken from the queue and not committed yet.
    private var buffer: CommitBuffer?
    /// Committed buffers that readers may still use.
    private var retired: [CommitBuffer] = []
    /// The next batch to write. Batches before `committed` need no retry.
    private var mark = 0
    private var committed = 0
    /// Failed attempts since the last successful one.
    private var failures = 0
    /// While the disk fails: no attempt before this time.
    private var nextAttempt: Instant?
    /// The wait for readers, while there is one.
    private var pause: ReaderPause?
    private var lastSync: Instant
    /// Of `JournalTimings.commits`.
    private var commitTimes: Histogram.Recorder?

    init(
        _ context: JournalContext, queue: AppendQueue, segments: SegmentList, spare: SpareSegment, ends: JournalEnds,
        recent: RecentCommits, live: LiveCursorTable, lanes: LaneTable, current: (segment: Segment, file: SegmentFile)?,
        onDurable: @escaping @Sendable (UInt64) -> Void
    ) {
        self.context = context
        self.queue = queue
        self.segments = segments
        self.spare = spare
        self.ends = ends
        self.recent = recent
        self.live = live
        self.lanes = lanes
        self.onDurable = onDurable
        lastSync = context.clock.now()
        commitTimes = context.timings?.commits.makeRecorder()
        self.current = current.map {
            Self.current($0.segment, $0.file, context)
        }
    }

    private static func current(_ segment: Segment, _ file: SegmentFile, _ context: JournalContext) -> Current {
        Current(
            segment: segment, file: file, seed: context.seed(segment), end: segment.endPosition,
            committedOffset: file.offset, committedEnd: segment.endPosition)
    }

    /// When `step` must be called again if the doorbell does not ring; nil if only the doorbell needs another call.
    var deadline: Instant? {
        if let nextAttempt { return nextAttempt }
        if let pause { return pause.next }
        guard current?.hasUnsynced == true else { return nil }
        return switch context.options.sync {
        case .interval(let interval): lastSync + interval
        // The option was an interval before: sync the rest now.
        case .always: lastSync
        case .never: nil
        }
    }

    /// Whether a commit of this many bytes only has to be written and synced: nothing has failed or is left over, no
    /// reader is waited for, and the segment is begun and has room.
    func canWriteAtOnce(_ count: Int) -> Bool {
        guard let current, buffer == nil, nextAttempt == nil, pause == nil else { return false }
        return current.offset > 0 && current.room - count >= Self.cursorBytes + BatchHeader.size
    }

    /// While the load is so high that a reader would lose its place in memory, it gets a moment: events that are read
    /// from memory cost all others less. A reader that does not use it reads from the disk from then on.
    private func waitsForReaders() -> Bool {
        // What waits for a sync cannot be read yet (`sync` with an interval).
        let isReadable = current.map { ends.durable >= $0.end } ?? true
        let count = isReadable ? queue.nextCommit : 0
        let now = context.clock.now()
        guard count > 0,
            let readers = recent.readersToAwait(
                adding: count, capacity: queue.capacity, now: now, lag: ReaderPause.longest)
        else {
            pause = nil
            return false
        }
        var current = pause ?? ReaderPause(at: now, context.options, reads: readers.reads)
        pause = current.goesOn(at: now, readers) ? current : nil
        return pause != nil
    }

    /// - Parameter mayPause: false: no commit waits for readers.
    func step(mayPause: Bool = true) -> Outcome {
        giveBackUnused()
        if buffer == nil {
            if mayPause, waitsForReaders() { return .idle }
            pause = nil
            buffer = queue.take()
            mark = 0
            committed = 0
            if let buffer { addCursors(to: buffer) }
        }
        guard let buffer else {
            syncIfDue()
            return .idle
        }
        guard buffer.isFilled() else {
            syncIfDue()
            return .filling
        }
        if let nextAttempt, context.clock.now() < nextAttempt { return .stuck }
        nextAttempt = nil
        // The second attempt uses a fresh segment. The caller's next `step` makes the third.
        for _ in 0..<2 {
            do throws(SystemError) {
                guard try commit(buffer) else { return .stuck }
                queue.setRoom(current?.room ?? 0)
                noteTimes(of: buffer)
                self.buffer = nil
                retired.append(buffer)
                if failures > 1 {
                    queue.close(nil)
                    context.telemetry.emit(JournalWritesAgain())
                }
                failures = 0
                syncIfDue()
                return .wrote
            } catch {
                retire(error)
                failures += 1
                guard failures > 1 else { continue }
                // The fresh segment failed as well, or cannot be begun. Clients get an error instead of waiting for a
                // disk that may never recover. A full disk does recover once there is room, so there clients may wait:
                // the filesystem did not honour a reservation, or a quota is reached.
                queue.close(
                    Shortage(
                        detail: "the journal cannot be written: \(error); see the daemon's log",
                        blocks: (error.isOutOfSpace || error.isOutOfDescriptors) && context.options.whenFull == .block,
                        isFull: error.isOutOfSpace))
                nextAttempt = context.clock.now() + JournalKeeper.retryAfter
            }
        }
        return .stuck
    }

    /// Makes all written events durable, unless the mode is `sync: never`. For the end.
    func finish() {
        guard let current, current.hasUnsynced, context.options.sync != .never else { return }
        do throws(SystemError) { try syncCurrent() } catch { retire(error) }
    }

    /// Returns the committed buffers that the recent commits and their readers no longer use.
    private func giveBackUnused() {
        var index = 0
        while index < retired.count {
            if isKnownUniquelyReferenced(&retired[index]) {
                queue.giveBack(retired.remove(at: index))
            } else {
                index += 1
            }
        }
    }

    // MARK: - Committing

    /// Appends the live cursors to the events of a commit, so that a power cut does not lose them. They get no
    /// separate commit: a system without events writes nothing. They are left out where they might take the room of
    /// events that the queue has admitted.
    private func addCursors(to buffer: CommitBuffer) {
        guard spare.isReady else { return }
        let room = (current?.room ?? context.options.segmentSize - Segment.sealSize) - buffer.count - BatchHeader.size
        let isFirst = current?.hasCursors != true
        let limit = min(room, buffer.capacity - buffer.count - BatchHeader.size, Self.cursorBytes)
        let events = buffer.count
        guard let payload = live.takeChanges(all: isFirst, limit: limit), buffer.append(cursors: payload)
        else { return }
        queue.noteAdded(buffer.count - events)
        current?.hasCursors = true
    }

    /// - Returns: false if there is no segment to write to.
    private func commit(_ buffer: CommitBuffer) throws(SystemError) -> Bool {
        while true {
            if current == nil {
                guard try begin(at: buffer.marks[mark].header.firstPosition) else { return false }
            }
            if current?.offset == 0 { try writeLanes(before: buffer.marks[mark].header) }
            try writeWhatFits(buffer)
            if mark == buffer.marks.count { break }
            precondition(current?.offset != current?.start, "the queue has let in a batch longer than a segment")
            try seal()
        }
        if context.options.sync == .always {
            try syncCurrent()
        } else {
            noteCommitted()
            if context.options.sync == .never { publish() }
            if let current { acknowledge(current.end) }
        }
        return true
    }

    private func writeWhatFits(_ buffer: CommitBuffer) throws(SystemError) {
        // If a sync failed and the file was kept, all of the buffer is in the file already.
        guard mark < buffer.marks.count else { return }
        // The parts of `current`, not a copy of it: so the file is changed in place, together with its last block.
        guard let (segment, seed, place, room) = current.map({ ($0.segment, $0.seed, $0.offset, $0.room) }) else {
            return
        }
        current?.file.align(buffer, from: mark)
        let start = buffer.marks[mark].offset
        var last = mark
        while last < buffer.marks.count, buffer.marks[last].end - start <= room { last += 1 }
        guard last > mark else { return }
        for index in mark..<last {
            buffer.complete(
                index, seed: seed, offset: place + buffer.marks[index].offset - start, durablePosition: ends.durable)
            segment.note(receivedAt: buffer.marks[index].header.receivedAt)
        }
        let range = start..<buffer.marks[last - 1].end
        try current?.file.append(buffer, range)
        recent.add(buffer, range, segment: segment, offset: place, now: context.clock.now())
        current?.end = buffer.marks[last - 1].header.endPosition
        current?.hasUnsynced = true
        mark = last
        if !context.protections.contains(.publishAfterSync), let current {
            current.segment.publish(readable: current.offset, end: current.end)
            ends.durable = current.end
        }
        if !context.protections.contains(.acknowledgeAfterSync), let current { acknowledge(current.end) }
    }

    private func syncCurrent(_ protection: Protections = .commitSync) throws(SystemError) {
        if let current { try sync(current.file.file, protection) }
        current?.hasUnsynced = false
        lastSync = context.clock.now()
        noteCommitted()
        publish()
        if let current { acknowledge(current.end) }
    }

    private func noteTimes(of buffer: CommitBuffer) {
        guard let timings = context.timings else { return }
        commitTimes?.addCommit(of: buffer, at: timings.wallClock)
        commitTimes?.flush()
    }

    private func sync(_ file: any DiskFile, _ protection: Protections) throws(SystemError) {
        guard let timings = context.timings else { return try context.sync(file, protection) }
        try timings.measureSync { () throws(SystemError) in try context.sync(file, protection) }
    }

    /// Marks all written batches: they need no retry.
    private func noteCommitted() {
        if let buffer {
            for mark in buffer.marks[committed..<mark] {
                guard let lane = mark.lane else { continue }
                lanes.commit(
                    LaneKey(source: mark.origin.source, lane: lane.lane.lane),
                    lane.stored(end: mark.header.endPosition, isEmpty: mark.header.count == 0),
                    lane.lane.mark, end: mark.header.endPosition)
            }
        }
        committed = mark
        guard let (offset, end) = current.map({ ($0.offset, $0.end) }) else { return }
        current?.committedOffset = offset
        current?.committedEnd = end
    }

    /// Shows readers the committed events only. A second attempt may still change the other ones in memory.
    private func publish() {
        guard let current else { return }
        let isCommittedOnly = context.protections.contains(.publishCommittedOnly)
        let end = isCommittedOnly ? current.committedEnd : current.end
        current.segment.publish(readable: isCommittedOnly ? current.committedOffset : current.offset, end: end)
        ends.durable = end
    }

    private func acknowledge(_ position: UInt64) {
        ends.acknowledged = position
        onDurable(position)
    }

    private func syncIfDue() {
        if context.options.sync == .never, let current, ends.durable < current.committedEnd { publish() }
        guard let deadline, context.clock.now() >= deadline else { return }
        do throws(SystemError) { try syncCurrent() } catch { retire(error) }
    }

    // MARK: - From segment to segment

    private func begin(at position: UInt64) throws(SystemError) -> Bool {
        guard let (segment, file) = try spare.take(as: position, into: segments) else { return false }
        current = Self.current(segment, try SegmentFile(file, offset: 0), context)
        return true
    }

    /// Writes all lanes and marks at the beginning of a segment, so that recovery finds them in the last one. All
    /// earlier batches are committed.
    /// - Parameter first: the header of the batch that follows.
    private func writeLanes(before first: BatchHeader) throws(SystemError) {
        guard let payloads = lanes.payloads, context.protections.contains(.laneTable), let seed = current?.seed else {
            return
        }
        var header = BatchHeader(
            kind: BatchHeader.Kind.lanes, payloadLength: UInt32(payloads.lanes.count), count: 0,
            firstPosition: first.firstPosition, durablePosition: ends.durable, receivedAt: first.receivedAt)
        if payloads.marks != nil { header.flags = LaneEntry.marksFlag }
        try current?.file.append(BatchHeader.batch(header, payload: payloads.lanes, seed.at(0)))
        if let marks = payloads.marks, let offset = current?.offset {
            (header.kind, header.flags, header.payloadLength) = (BatchHeader.Kind.marks, 0, UInt32(marks.count))
            try current?.file.append(BatchHeader.batch(header, payload: marks, seed.at(offset)))
        }
        if let offset = current?.offset { current?.start = offset }
    }

    /// Ends the current segment: one sync for its last batches and its seal.
    private func seal() throws(SystemError) {
        guard let current else { return }
        let times = current.segment.receiveTimes
        let seal = Seal(
            validLength: current.offset, endPosition: current.end, durablePosition: current.end,
            earliest: times.earliest,
            latest: times.latest)
        let place = current.segment.capacity
        try current.file.writeLast(seal.encoded(current.seed, at: place, now: context.clock.wallClock()), at: place)
        if context.options.sync == .never {
            noteCommitted()
            publish()
        } else {
            try syncCurrent(.sealSync)
        }
        current.segment.seal()
        self.current = nil
    }

    /// Stops using a file after a failure.
    private func retire(_ error: SystemError) {
        if !context.protections.contains(.retireFailedFile) { return }
        var detail = "\(error); the journal stops using this file"
        if let current {
            // Not decided by `sync`: the option may have changed since.
            if ends.durable < current.committedEnd {
                detail +=
                    "; positions \(ends.durable) to \(current.committedEnd) (exclusive), acknowledged as written,"
                    + " may not be on disk"
                publish()
            }
            current.segment.seal()
        }
        current = nil
        queue.setRoom(0)
        mark = committed
        context.telemetry.emit(JournalWriteFailed(detail: detail))
    }
}
