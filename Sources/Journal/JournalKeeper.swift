import Platform
import Telemetry

/// What has to be done beside writing: the next segment, the cursors, retention. One thread at a
/// time; `step` never waits for anything but the disk.
final class JournalKeeper: @unchecked Sendable {
    /// How long to wait before a segment that could not be made is tried again.
    static let retryAfter = Duration.seconds(1)

    private let site: JournalSite
    private let queue: AppendQueue
    private let segments: SegmentList
    private let spare: SpareSegment
    private let cursors: CursorTable
    private var retention: Retention
    private var nextCommit: Instant
    private var lastProblem: String?
    /// Segments dropped in a row for the sake of space that have freed none, and the free bytes after the last of them.
    private var fruitlessDrops = 0
    private var freeAfterDrop = 0

    init(
        _ site: JournalSite, queue: AppendQueue, segments: SegmentList, spare: SpareSegment, cursors: CursorTable
    ) {
        self.site = site
        self.queue = queue
        self.segments = segments
        self.spare = spare
        self.cursors = cursors
        retention = Retention(site: site, segments: segments, cursors: cursors)
        nextCommit = site.clock.now() + site.options.cursorInterval
    }

    /// - Returns: whether a segment is ready that was not before, and when to call again.
    func step() -> (newSpare: Bool, next: Instant) {
        let now = site.clock.now()
        if now >= nextCommit {
            nextCommit = now + site.options.cursorInterval
            do throws(SystemError) { try cursors.commit() } catch {
                site.telemetry.emit(JournalCursorCommitFailed(detail: "\(error)"))
            }
        }
        let missing = !spare.isReady
        var hasRoom = true
        do throws(SystemError) {
            hasRoom = try retention.run(needed: site.options.segmentSize)
        } catch {
            site.telemetry.emit(JournalFile(detail: "retention: \(error)"))
        }
        guard missing else { return (false, nextCommit) }
        guard hasRoom else {
            tell("retain's size is reached, and destinations still need the oldest segment")
            queue.setShortage(
                Shortage(
                    detail: "the journal is full: a destination is behind (journal.retain, journal.when_full)",
                    blocks: site.options.whenFull != .reject, isFull: true))
            return (false, min(nextCommit, now + Self.retryAfter))
        }
        do throws(SystemError) {
            try prepareSpare()
        } catch {
            queue.setShortage(shortage(error))
            // Space may become free at any time, and the kernel sends no notice of it.
            return (false, min(nextCommit, now + Self.retryAfter))
        }
        if lastProblem == Self.fullFilesystem { site.telemetry.emit(JournalHasSpaceAgain()) }
        lastProblem = nil
        fruitlessDrops = 0
        queue.setShortage(nil)
        return (true, nextCommit)
    }

    /// Makes the next segment, at the cost of the oldest ones that nobody needs where the filesystem is full.
    private func prepareSpare() throws(SystemError) {
        while true {
            do throws(SystemError) {
                return try spare.prepare()
            } catch {
                guard error.isOutOfSpace, try makeRoom() else { throw error }
            }
        }
    }

    /// - Returns: whether a segment went.
    private func makeRoom() throws(SystemError) -> Bool {
        if try retention.removeForSpace() { return true }
        guard site.options.whenFull == .dropOldest else { return false }
        // A reader that has a segment open holds its space, and each reader has one at most. Where more drops than that
        // have freed nothing (a snapshot holds the segments, or somebody else took the room), no more are lost for nothing.
        let before = try site.disk.freeSpace(site.directory)
        if fruitlessDrops > cursors.readers, before <= freeAfterDrop { return false }
        guard try retention.dropForSpace() else { return false }
        freeAfterDrop = try site.disk.freeSpace(site.directory)
        fruitlessDrops = freeAfterDrop > before ? 0 : fruitlessDrops + 1
        return true
    }

    private static let fullFilesystem = "full filesystem"

    /// What lacks where no segment can be made, and what clients see of it.
    private func shortage(_ error: SystemError) -> Shortage {
        guard error.isOutOfSpace else {
            tell("\(error)")
            return Shortage(
                detail: "the journal cannot be written: \(error)",
                blocks: error.isOutOfDescriptors && site.options.whenFull == .block, isFull: false)
        }
        let free = (try? site.disk.freeSpace(site.directory)) ?? 0
        let space = JournalSpace(needed: site.options.segmentSize + site.options.reserve, free: free)
        let blocks = site.options.whenFull == .block
        if lastProblem != Self.fullFilesystem {
            site.telemetry.emit(JournalFilesystemFull(directory: site.directory, space: space, blocks: blocks))
        }
        lastProblem = Self.fullFilesystem
        return Shortage(
            detail: "the journal's filesystem is full: the next segment needs \(space.needed) bytes, and \(free) are free",
            blocks: blocks, isFull: true, space: space)
    }

    private func tell(_ problem: String) {
        if problem != lastProblem { site.telemetry.emit(JournalNoSegment(detail: problem)) }
        lastProblem = problem
    }
}
