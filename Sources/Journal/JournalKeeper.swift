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
    private let retention: Retention
    private var nextCommit: Instant
    private var lastProblem: String?

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
            let text = "the journal is full: a destination is behind (journal.retain)"
            queue.setShortage(site.options.whenFull == .reject ? .refused(text, isFull: true) : .busy)
            return (false, min(nextCommit, now + Self.retryAfter))
        }
        do throws(SystemError) {
            try prepareSpare()
        } catch {
            tell("\(error)")
            let isFull = error.isOutOfSpace
            let text = isFull ? "the journal's filesystem is full" : "the journal cannot be written: \(error)"
            queue.setShortage(.refused(text, isFull: isFull))
            return (false, min(nextCommit, now + Self.retryAfter))
        }
        lastProblem = nil
        queue.setShortage(nil)
        return (true, nextCommit)
    }

    /// Makes the next segment, at the cost of the oldest ones that nobody needs where the filesystem is full.
    private func prepareSpare() throws(SystemError) {
        while true {
            do throws(SystemError) {
                return try spare.prepare()
            } catch {
                guard error.isOutOfSpace, try retention.removeForSpace() else { throw error }
            }
        }
    }

    private func tell(_ problem: String) {
        if problem != lastProblem { site.telemetry.emit(JournalNoSegment(detail: problem)) }
        lastProblem = problem
    }
}
