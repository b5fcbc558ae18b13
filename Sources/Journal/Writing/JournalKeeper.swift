import Platform
import Telemetry

/// The work beside writing: prepares the next segment, commits the cursors, runs retention. One thread at a time.
/// `step` waits only for the disk.
final class JournalKeeper: @unchecked Sendable {
    /// The pause before another attempt to make a segment.
    static let retryAfter = Duration.seconds(1)

    private let context: JournalContext
    private let queue: AppendQueue
    private let segments: SegmentList
    private let spare: SpareSegment
    private let cursors: CursorTable
    private var retention: Retention
    private var nextCommit: Instant
    private var lastProblem: String?
    /// Segments in a row that were dropped for space and freed none, and the free bytes after the last of them.
    private var fruitlessDrops = 0
    private var freeAfterDrop = 0

    init(
        _ context: JournalContext, queue: AppendQueue, segments: SegmentList, spare: SpareSegment, cursors: CursorTable,
        lanes: LaneTable
    ) {
        self.context = context
        self.queue = queue
        self.segments = segments
        self.spare = spare
        self.cursors = cursors
        retention = Retention(context: context, segments: segments, cursors: cursors, lanes: lanes)
        nextCommit = context.clock.now() + context.options.cursorInterval
    }

    /// - Returns: whether a new spare segment became ready, and when to call again.
    func step() -> (newSpare: Bool, next: Instant) {
        let now = context.clock.now()
        if now >= nextCommit {
            nextCommit = now + context.options.cursorInterval
            do throws(SystemError) { try cursors.commit() } catch {
                context.telemetry.emit(JournalCursorCommitFailed(detail: "\(error)"))
            }
        }
        let missing = !spare.isReady
        var hasRoom = true
        do throws(SystemError) {
            hasRoom = try retention.run(needed: context.options.segmentSize)
        } catch {
            context.telemetry.emit(JournalFile(detail: "retention: \(error)"))
        }
        guard missing else { return (false, nextCommit) }
        guard hasRoom else {
            let shortage = fullJournal()
            tell(shortage.report ?? shortage.detail)
            queue.setShortage(shortage)
            return (false, min(nextCommit, now + Self.retryAfter))
        }
        do throws(SystemError) {
            try prepareSpare()
        } catch {
            queue.setShortage(shortage(error))
            // Space can become free at any time, and the kernel sends no notification.
            return (false, min(nextCommit, now + Self.retryAfter))
        }
        if lastProblem == Self.fullFilesystem { context.telemetry.emit(JournalHasSpaceAgain()) }
        lastProblem = nil
        fruitlessDrops = 0
        queue.setShortage(nil)
        return (true, nextCommit)
    }

    /// `retain`'s size is reached, and destinations still need the oldest segment.
    private func fullJournal() -> Shortage {
        let options = context.options
        let waits = options.whenFull != .reject
        let end = segments.first?.endPosition ?? 0
        let names = cursors.configured(below: end).map { "\"\($0.name)\"" }.sorted()
        let others = names.count > 3 ? ["\(names.count - 2) others"] : []
        let listed = (others.isEmpty ? names : Array(names.prefix(2))) + others
        let destinations = "destination\(names.count == 1 ? "" : "s") " + listed.joined(separator: ", ")
        return Shortage(
            detail: "the journal is full: a destination is behind (journal.retain, journal.when_full)",
            report: "journal full (\(Readable.size(UInt64(clamping: options.retainSize)))): waiting for "
                + (names.isEmpty ? "a destination" : destinations)
                + "; \(waits ? "clients wait" : "events are refused")"
                + " once the last segment is full (journal.retain)",
            blocks: waits, isFull: true)
    }

    /// Makes the next segment. On a full filesystem it first removes the oldest segments that no destination needs.
    private func prepareSpare() throws(SystemError) {
        while true {
            do throws(SystemError) {
                return try spare.prepare()
            } catch {
                guard error.isOutOfSpace, try makeRoom() else { throw error }
            }
        }
    }

    /// - Returns: whether a segment was removed.
    private func makeRoom() throws(SystemError) -> Bool {
        if try retention.removeForSpace() { return true }
        guard context.options.whenFull == .dropOldest else { return false }
        // A reader that has a segment open holds its space, and each reader has at most one open. If more drops than
        // that have freed nothing (a snapshot holds the segments, or another process took the space), further drops
        // would lose events for nothing.
        let before = try context.disk.freeSpace(context.directory)
        if fruitlessDrops > cursors.readers, before <= freeAfterDrop { return false }
        guard try retention.dropForSpace() else { return false }
        freeAfterDrop = try context.disk.freeSpace(context.directory)
        fruitlessDrops = freeAfterDrop > before ? 0 : fruitlessDrops + 1
        return true
    }

    private static let fullFilesystem = "full filesystem"

    /// Why no segment can be made, and what clients get.
    private func shortage(_ error: SystemError) -> Shortage {
        guard error.isOutOfSpace else {
            tell("\(error)")
            return Shortage(
                detail: "the journal cannot be written: \(error)",
                blocks: error.isOutOfDescriptors && context.options.whenFull == .block, isFull: false)
        }
        let free = (try? context.disk.freeSpace(context.directory)) ?? 0
        let space = JournalSpace(needed: context.options.segmentSize + context.options.reserve, free: free)
        let blocks = context.options.whenFull == .block
        if lastProblem != Self.fullFilesystem {
            context.telemetry.emit(JournalFilesystemFull(directory: context.directory, space: space, blocks: blocks))
        }
        lastProblem = Self.fullFilesystem
        return Shortage(
            detail:
                "the journal's filesystem is full: the next segment needs \(space.needed) bytes, and \(free) are free",
            blocks: blocks, isFull: true, space: space)
    }

    private func tell(_ problem: String) {
        if problem != lastProblem { context.telemetry.emit(JournalNoSegment(detail: problem)) }
        lastProblem = problem
    }
}
