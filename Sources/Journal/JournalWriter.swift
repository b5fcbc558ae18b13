import Platform
import Telemetry

/// Commits what the queue holds: one write, one sync, then everybody may know. One thread at a time;
/// `step` never waits for anything but the disk, so that a simulation can call it too.
///
/// A file that failed once is never written or synced again: after a failed fdatasync the kernel
/// may call lost pages clean. What was not acknowledged is still in memory, and goes to a fresh
/// segment.
final class JournalWriter: @unchecked Sendable {
    enum Outcome: Equatable {
        case idle
        case wrote
        /// Something is left that cannot be written now: no next segment, or the disk fails.
        case stuck
    }

    private struct Current {
        var segment: Segment
        var file: SegmentFile
        var seed: ChecksumSeed
        /// Where the next batch goes.
        var offset: Int { file.offset }
        /// The position after the last event written.
        var end: UInt64
        /// The same two, of what need not be written again, whatever fails.
        var committedOffset: Int
        var committedEnd: UInt64
        var hasUnsynced = false
        /// A batch of all live cursors was begun in it.
        var hasCursors = false
        var room: Int { segment.capacity - offset }
    }

    private let site: JournalSite
    private let queue: AppendQueue
    private let segments: SegmentList
    private let spare: SpareSegment
    private let ends: JournalEnds
    private let recent: RecentCommits
    private let live: LiveCursorTable
    private let onDurable: @Sendable (UInt64) -> Void

    /// Bytes that a batch of cursors may take.
    private static let cursorBytes = 4 << 10

    private var current: Current?
    /// What was taken from the queue and is not committed yet.
    private var buffer: CommitBuffer?
    /// Committed; some may still be read.
    private var retired: [CommitBuffer] = []
    /// The batch to write next; those before `committed` need not be written again.
    private var mark = 0
    private var committed = 0
    /// Attempts that failed since the last one that did not.
    private var failures = 0
    /// While the disk fails: not before this.
    private var nextAttempt: Instant?
    private var lastSync: Instant

    init(
        _ site: JournalSite, queue: AppendQueue, segments: SegmentList, spare: SpareSegment, ends: JournalEnds,
        recent: RecentCommits, live: LiveCursorTable, current: (segment: Segment, file: SegmentFile)?, onDurable: @escaping @Sendable (UInt64) -> Void
    ) {
        self.site = site
        self.queue = queue
        self.segments = segments
        self.spare = spare
        self.ends = ends
        self.recent = recent
        self.live = live
        self.onDurable = onDurable
        lastSync = site.clock.now()
        self.current = current.map {
            Self.current($0.segment, $0.file, site)
        }
    }

    private static func current(_ segment: Segment, _ file: SegmentFile, _ site: JournalSite) -> Current {
        Current(
            segment: segment, file: file, seed: site.seed(segment), end: segment.endPosition,
            committedOffset: file.offset, committedEnd: segment.endPosition)
    }

    /// When `step` has to be called again though nobody rings; nil: not by itself.
    var deadline: Instant? {
        if let nextAttempt { return nextAttempt }
        guard current?.hasUnsynced == true else { return nil }
        return switch site.options.sync {
        case .interval(let interval): lastSync + interval
        // What an interval that is no more has left.
        case .always: lastSync
        case .never: nil
        }
    }

    func step() -> Outcome {
        if buffer == nil {
            buffer = queue.take()
            mark = 0
            committed = 0
            if let buffer { addCursors(to: buffer) }
        }
        guard let buffer else {
            syncIfDue()
            return .idle
        }
        if let nextAttempt, site.clock.now() < nextAttempt { return .stuck }
        nextAttempt = nil
        // A second attempt, in a fresh segment; whoever calls comes back for a third.
        for _ in 0..<2 {
            do throws(SystemError) {
                guard try commit(buffer) else { return .stuck }
                queue.setRoom(current?.room ?? 0)
                self.buffer = nil
                queue.giveBack(unused())
                retired.append(buffer)
                if failures > 1 {
                    queue.close(nil)
                    site.telemetry.emit(JournalWritesAgain())
                }
                failures = 0
                syncIfDue()
                return .wrote
            } catch {
                retire(error)
                failures += 1
                guard failures > 1 else { continue }
                // A fresh segment failed as well, or cannot be begun: clients are told, rather than made
                // to wait for a disk that may never answer. A disk that is full answers once there is room: a filesystem
                // that does not hold to what it has reserved, or a quota.
                queue.close(
                    Shortage(
                        detail: "the journal cannot be written: \(error); see the daemon's log",
                        blocks: (error.isOutOfSpace || error.isOutOfDescriptors) && site.options.whenFull == .block,
                        isFull: error.isOutOfSpace))
                nextAttempt = site.clock.now() + JournalKeeper.retryAfter
            }
        }
        return .stuck
    }

    /// Makes what was written durable, whatever the mode. For the end.
    func finish() {
        guard let current, current.hasUnsynced, site.options.sync != .never else { return }
        do throws(SystemError) { try syncCurrent() } catch { retire(error) }
    }

    /// A buffer that nobody looks at any more; nil: there is none.
    private func unused() -> CommitBuffer? {
        for index in retired.indices where isKnownUniquelyReferenced(&retired[index]) {
            return retired.remove(at: index)
        }
        // Readers are still copying from them; what is dropped here goes when they are done.
        if retired.count > 2 { retired.removeFirst() }
        return nil
    }

    // MARK: - Committing

    /// Puts the live cursors behind the events of a commit, for the sake of a power cut. They have no commit of their
    /// own: a system without events writes nothing. They are left out where they might take the room of events that
    /// were let in already.
    private func addCursors(to buffer: CommitBuffer) {
        guard spare.isReady else { return }
        let room = (current?.room ?? site.options.segmentSize - Segment.sealSize) - buffer.count - BatchHeader.size
        let isFirst = current?.hasCursors != true
        let limit = min(room, buffer.capacity - buffer.count - BatchHeader.size, Self.cursorBytes)
        guard let payload = live.takeChanges(all: isFirst, limit: limit), buffer.append(cursors: payload) else { return }
        current?.hasCursors = true
    }

    /// - Returns: false if there is no segment to write to.
    private func commit(_ buffer: CommitBuffer) throws(SystemError) -> Bool {
        while true {
            if current == nil {
                guard try begin(at: buffer.marks[mark].header.firstPosition) else { return false }
            }
            try writeWhatFits(buffer)
            if mark == buffer.marks.count { break }
            precondition(current?.offset != 0, "the queue has let in a batch longer than a segment")
            try seal()
        }
        if site.options.sync == .always {
            try syncCurrent()
        } else {
            noteCommitted()
            if site.options.sync == .never { publish() }
            if let current { acknowledge(current.end) }
        }
        return true
    }

    private func writeWhatFits(_ buffer: CommitBuffer) throws(SystemError) {
        // All of it lies in the file already if the file was not given up when its sync failed.
        guard mark < buffer.marks.count else { return }
        // Its parts, not a copy of it: the file is then changed where it is, its last block with it.
        guard let (segment, seed, place, room) = current.map({ ($0.segment, $0.seed, $0.offset, $0.room) }) else { return }
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
        recent.add(buffer, range, segment: segment, offset: place)
        current?.end = buffer.marks[last - 1].header.endPosition
        current?.hasUnsynced = true
        mark = last
        if !site.protections.contains(.publishAfterSync), let current {
            current.segment.publish(readable: current.offset, end: current.end)
            ends.durable = current.end
        }
        if !site.protections.contains(.acknowledgeAfterSync), let current { acknowledge(current.end) }
    }

    private func syncCurrent(_ protection: Protections = .commitSync) throws(SystemError) {
        if let current { try site.sync(current.file.file, protection) }
        current?.hasUnsynced = false
        lastSync = site.clock.now()
        noteCommitted()
        publish()
        if let current { acknowledge(current.end) }
    }

    /// What was written so far is not written again.
    private func noteCommitted() {
        committed = mark
        guard let (offset, end) = current.map({ ($0.offset, $0.end) }) else { return }
        current?.committedOffset = offset
        current?.committedEnd = end
    }

    /// Shows readers what is committed, and nothing that a second attempt may still change in memory.
    private func publish() {
        guard let current else { return }
        let isCommittedOnly = site.protections.contains(.publishCommittedOnly)
        let end = isCommittedOnly ? current.committedEnd : current.end
        current.segment.publish(readable: isCommittedOnly ? current.committedOffset : current.offset, end: end)
        ends.durable = end
    }

    private func acknowledge(_ position: UInt64) {
        ends.acknowledged = position
        onDurable(position)
    }

    private func syncIfDue() {
        if site.options.sync == .never, let current, ends.durable < current.committedEnd { publish() }
        guard let deadline, site.clock.now() >= deadline else { return }
        do throws(SystemError) { try syncCurrent() } catch { retire(error) }
    }

    // MARK: - From segment to segment

    private func begin(at position: UInt64) throws(SystemError) -> Bool {
        guard let (segment, file) = try spare.take(as: position, into: segments) else { return false }
        current = Self.current(segment, try SegmentFile(file, offset: 0), site)
        return true
    }

    /// Ends the current segment: one sync for its last batches and its seal.
    private func seal() throws(SystemError) {
        guard let current else { return }
        let times = current.segment.receiveTimes
        let seal = Seal(
            validLength: current.offset, endPosition: current.end, durablePosition: current.end, earliest: times.earliest,
            latest: times.latest)
        let place = current.segment.capacity
        try current.file.writeLast(seal.encoded(current.seed, at: place, now: site.clock.wallClock()), at: place)
        if site.options.sync == .never {
            noteCommitted()
            publish()
        } else {
            try syncCurrent(.sealSync)
        }
        current.segment.seal()
        self.current = nil
    }

    /// Gives a file up that failed.
    private func retire(_ error: SystemError) {
        if !site.protections.contains(.retireFailedFile) { return }
        var detail = "\(error); the file is given up"
        if let current {
            // Not by the mode: it may have changed since.
            if ends.durable < current.committedEnd {
                detail += "; positions \(ends.durable) to \(current.committedEnd) (exclusive), acknowledged as written,"
                    + " may not be on disk"
                publish()
            }
            current.segment.seal()
        }
        current = nil
        queue.setRoom(0)
        mark = committed
        site.telemetry.emit(JournalWriteFailed(detail: detail))
    }
}
