// Journal: one append-only log on disk, and a cursor into it for every destination. It knows
// Events, Platform and Telemetry.
//
// What always holds:
// - The durable end is only moved after fdatasync returned, and readers see nothing above it.
// - Durable bytes never change. Nothing is truncated, nothing is overwritten.
// - A position is given once. An event's position never changes, and is below every later one's.
// - A segment is removed only when a cursor that is on disk has passed it.
// - A file that failed to sync is never written or synced again.
// - The disk and the time are Platform's protocols; `JournalWriter.step` and `JournalKeeper.step` wait
//   for nothing else, so that the same code runs in a simulation.
// What it never does: read an event's JSON; make up for a missing manifest; skip anything silently.
//
// Threads: any number append (one lock, one copy); one writer commits; one keeper prepares the
// next segment, commits cursors and removes what retention allows; each reader is its owner's.
//
// The segments are written past the page cache, in whole blocks, where the filesystem can do that
// (SegmentFile): an event is written once and, by a destination that keeps up, read from memory
// (RecentCommits), so pages would cost more than the disk does: to read a gigabyte through an empty page
// cache was measured to cost ten times the CPU time of reading past it. So one that lags reads past it, too,
// but takes what is there already. That is done in sealed segments only: the kernel drops a page that is
// written past, yet one that is read at that moment may stay. What looks damaged in the page cache is read
// again from the disk before anybody hears of it.
//
// The files, format version 1: Journal.docc/Format.md. In short: segments of fixed size hold batches, each a
// header and a payload with a checksum each, seeded with where they belong; a seal ends a segment.
//
// # Cursors
//
// A cursor lies in up to three places. `cursors` is durable with each commit of the cursors, at least once every
// `cursor_interval`, and the only one that retention goes by. For a destination that keeps no state with its cursor
// (HTTP), `cursors.live` is written after each settled batch without a sync: after a kill, only what was in flight is
// delivered again. For a power cut the live cursors ride along with commits of events. Ranges above the position are kept,
// too, since later batches get through while an earlier one is under way; up to 120 of them, and with `order: user` none.
// A power cut between the beginning of a segment and the first commit in it takes live cursors back to `cursors`.
// A destination with a state (files, plugins) takes no part: it stays exactly once because its state and its position
// are kept together.
//
// # A full filesystem
//
// A journal needs room for two segments (the current one and the spare) and the reserve, at most 16 MiB or two segments:
// 144 MiB with the usual segments of 64 MiB. Dead letters, and what `retain` keeps, come on top. Where a spare cannot be
// made, the segments that every destination has had go first. Then `when_full` decides: `block` fills the
// current segment and makes clients wait, looking for room once a second; `reject` refuses events; `drop_oldest` removes the
// oldest segment, as long as that frees space. A disk that fills below a segment that was reserved (a quota, a filesystem
// that shares blocks) fails the commit: nothing of it is acknowledged, it stays in memory and is written again.
//
// # After a crash
//
// Sealed segments are taken at their word. One without a seal is read. Bytes that are no batch, with a
// whole batch behind them, are damage: they are copied to `quarantine/`, the gap is told, and
// reading goes on behind them. (If the batch behind says that everything before the gap was the durable
// end, it is one write that arrived in part: told as never acknowledged.) With nothing whole behind
// them they are the torn end of the last write, which nobody was told of: the segment is sealed before
// them. Where the last segment holds only zeros behind its last batch, it is written on.

import Events
import Platform
import Synchronization
import Telemetry

/// One journal, open. Any thread, unless a member says otherwise.
package final class Journal: Sendable {
    private struct Running {
        var writer: WorkerThread
        var keeper: WorkerThread
    }

    private struct Hands {
        /// The lock: held as long as it is here.
        var lock: (any DiskFile)?
        /// What the writer begins with.
        var current: (segment: Segment, file: SegmentFile)?
        var running: Running?
        /// Of a journal whose owner does the steps.
        var stepped: JournalWriter?
        var isStopped = false
    }

    package let uuid: JournalUUID

    private let site: JournalSite
    private let queue: AppendQueue
    let segments: SegmentList
    private let spare: SpareSegment
    private let cursors: CursorTable
    private let live: LiveCursorTable
    private let quarantine: Quarantine
    private let ends: JournalEnds
    private let recent: RecentCommits
    private let hands: Mutex<Hands>
    private let writerBell: Doorbell
    private let keeperBell = Doorbell()
    private let stopping = Atomic(false)

    private init(
        _ site: JournalSite, lock: any DiskFile, found: Recovery.Result, cursors: CursorTable, live: LiveCursorTable,
        quarantine: Quarantine, ends: JournalEnds
    ) {
        self.site = site
        self.cursors = cursors
        self.live = live
        self.quarantine = quarantine
        uuid = site.uuid
        segments = SegmentList(found.segments)
        spare = SpareSegment(site, quarantine)
        self.ends = ends
        recent = RecentCommits(bytes: site.options.queueBytes)
        writerBell = Doorbell()
        let room = found.current.map { $0.segment.capacity - $0.file.offset } ?? 0
        queue = AppendQueue(options: site.options, clock: site.clock, next: found.next, room: room, bell: writerBell)
        hands = Mutex(Hands(lock: lock, current: found.current))
    }

    /// Opens the journal in a directory, or makes one there, and finds out what it holds. Nothing is
    /// written to until `start`.
    ///
    /// - Parameter generator: where a new journal's UUID comes from.
    /// - Throws: `.locked` while another process has it; `.inconsistent` rather than start anew over
    ///   somebody's data; `.unsupported`, `.invalidOptions`, `.io`.
    package static func open(
        directory: String, options: JournalOptions, disk: any Disk, clock: any Clock, telemetry: Telemetry,
        generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) throws(JournalError) -> Journal {
        try options.validate()
        let (lock, names) = try journal("open the directory") { () throws(SystemError) in
            try disk.makeDirectory(directory, permissions: 0o750)
            let lock = try disk.open(directory + "/lock", .createOrReadWrite)
            return (try lock.tryLock() ? lock : nil, try disk.list(directory))
        }
        guard let lock else {
            throw JournalError(
                .locked, "journal: \(directory) is in use by another process: stop that one first (systemctl stop penstock)")
        }
        let known = try Manifest.read(in: directory, disk, options.protections)
        var generator = generator
        let site = JournalSite(
            directory: directory, uuid: known?.uuid ?? JournalUUID(using: &generator), options: options, disk: disk,
            clock: clock, telemetry: telemetry)
        let manifest = if let known { known } else { try site.makeManifest(besides: names) }
        var file = CursorFile(site)
        let contents = try journal("read the cursors") { () throws(SystemError) in try file.load() }
        let kept = contents?.latest
        if let contents, contents.hasDamagedSlot {
            telemetry.emit(JournalCursorSlotDamaged(path: site.path(CursorFile.name), isOtherWhole: kept != nil))
        }
        let quarantine = Quarantine(site)
        let existed =
            site.protections.contains(.nextAboveCursors)
            ? max(kept?.durableEnd ?? 0, kept?.cursors.values.map(\.position).max() ?? 0, manifest.starts.values.max() ?? 0)
            : 0
        let recovery = Recovery(site: site, quarantine: quarantine, known: existed)
        if kept == nil { try recovery.refuseForeign(names) }
        let found = try recovery.run(names)
        // The journal's UUID is in its cursors. So cursors of no destination, too, show whose segments these are.
        if contents == nil, found.segments.isEmpty, site.protections.contains(.cursorsFromTheBeginning) {
            try journal("write the cursors") { () throws(SystemError) in try file.write([:], durableEnd: found.next) }
        }
        let ends = JournalEnds(found.next)
        let live = try LiveCursorTable(site, found: found.cursors, end: found.next)
        let cursors = CursorTable(
            site, manifest: manifest, file: file, kept: kept ?? CursorFile.Slot(), live: live,
            first: found.segments.first?.firstPosition ?? found.next, ends: ends)
        let opened = Journal(site, lock: lock, found: found, cursors: cursors, live: live, quarantine: quarantine, ends: ends)
        telemetry.emit(
            JournalRecovered(
                directory: directory, segments: found.segments.count, first: opened.firstPosition, next: found.next))
        return opened
    }

    // MARK: - Life

    /// Starts writing. Once.
    /// - Parameters:
    ///   - onDurable: after each commit, on the writer's thread, with the acknowledged end; be quick.
    ///   - onSpace: after `append` said busy and there is room again; from any thread.
    package func start(
        onDurable: @escaping @Sendable (UInt64) -> Void = { _ in }, onSpace: @escaping @Sendable () -> Void = {}
    ) {
        hands.withLock { hands in
            let (writer, keeper) = begin(&hands, onDurable)
            hands.running = Running(
                writer: WorkerThread(name: "journal-writer") { self.write(writer, onSpace) },
                keeper: WorkerThread(name: "journal-keeper") { self.keep(keeper, onSpace) })
        }
    }

    /// The same, without threads: the owner does the steps.
    package func startStepped(
        onDurable: @escaping @Sendable (UInt64) -> Void = { _ in }, onSpace: @escaping @Sendable () -> Void = {}
    ) -> JournalSteps {
        hands.withLock { hands in
            let (writer, keeper) = begin(&hands, onDurable)
            hands.stepped = writer
            return JournalSteps(self, writer, keeper, onSpace: onSpace)
        }
    }

    private func begin(
        _ hands: inout Hands, _ onDurable: @escaping @Sendable (UInt64) -> Void
    ) -> (JournalWriter, JournalKeeper) {
        precondition(hands.running == nil && hands.stepped == nil && !hands.isStopped, "a journal is started once")
        let writer = JournalWriter(
            site, queue: queue, segments: segments, spare: spare, ends: ends, recent: recent, live: live, current: hands.current,
            onDurable: onDurable)
        hands.current = nil
        return (writer, JournalKeeper(site, queue: queue, segments: segments, spare: spare, cursors: cursors))
    }

    /// Writes and syncs what is queued, commits the cursors, and gives up the lock. Returns when that is
    /// done, or when the disk has refused it.
    package func stop() {
        queue.end()
        stopping.store(true, ordering: .releasing)
        let (running, stepped) = hands.withLock { hands in
            hands.isStopped = true
            return (exchange(&hands.running, with: nil), exchange(&hands.stepped, with: nil))
        }
        writerBell.ring()
        running?.writer.join()
        keeperBell.ring()
        running?.keeper.join()
        if let stepped { write(stepped, {}) }
        do throws(SystemError) { try cursors.commit() } catch {
            site.telemetry.emit(JournalCursorCommitFailed(detail: "\(error)"))
        }
        hands.withLock { hands in
            hands.current = nil
            hands.lock = nil
        }
    }

    private func write(_ writer: JournalWriter, _ onSpace: @Sendable () -> Void) {
        // At the end: as many segments as what is queued may need.
        var attempts = 2 * site.options.queueBytes / site.options.segmentSize + 3
        while true {
            ends.beat()
            let last = stopping.load(ordering: .acquiring)
            let outcome = step(writer, onSpace)
            if outcome == .wrote {
                // The keeper makes the next segment while this one fills.
                if !spare.isReady { keeperBell.ring() }
                continue
            }
            if last {
                // What lacks may be the next segment only, and the keeper may be gone.
                if outcome == .stuck, attempts > 0, (try? spare.prepare()) != nil {
                    attempts -= 1
                    continue
                }
                break
            }
            if outcome == .stuck { keeperBell.ring() }
            let tick = site.clock.now() + .seconds(1)
            writerBell.wait(until: min(tick, writer.deadline ?? tick))
        }
        writer.finish()
    }

    private func keep(_ keeper: JournalKeeper, _ onSpace: @Sendable () -> Void) {
        while !stopping.load(ordering: .acquiring) {
            keeperBell.wait(until: step(keeper, onSpace))
        }
    }

    func step(_ writer: JournalWriter, _ onSpace: @Sendable () -> Void) -> JournalWriter.Outcome {
        let outcome = writer.step()
        if queue.spaceToTell() { onSpace() }
        return outcome
    }

    func step(_ keeper: JournalKeeper, _ onSpace: @Sendable () -> Void) -> Instant {
        let (newSpare, next) = keeper.step()
        if newSpare { writerBell.ring() }
        if queue.spaceToTell() { onSpace() }
        return next
    }

    /// Takes new options at once, but for the size of segments and of the queue: memory and files are laid
    /// out for those, so they change with the next start.
    /// - Throws: `.invalidOptions`; then nothing is changed.
    package func configure(_ options: JournalOptions) throws(JournalError) {
        try options.validate()
        var next = options
        next.segmentSize = site.options.segmentSize
        next.queueBytes = site.options.queueBytes
        site.setOptions(next)
        // Retention or the interval may ask for something now.
        writerBell.ring()
        keeperBell.ring()
    }

    // MARK: - Events

    /// Copies the events and queues them for the next group commit. Never blocks, never takes a part.
    /// - Parameter events: lie within `bytes`, in the order in which they were sent.
    package func append(_ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin) -> JournalAppend {
        queue.append(bytes, events: events, from: origin)
    }

    /// The position after the last event that readers may see. Only grows.
    package var durableEnd: UInt64 { ends.durable }
    /// The position after the last event that clients may be told of: the durable end, but with
    /// `sync: interval` ahead of it.
    package var acknowledgedEnd: UInt64 { ends.acknowledged }
    /// Of the first event kept.
    package var firstPosition: UInt64 { segments.first?.firstPosition ?? ends.durable }
    /// Grows at least once a second while the writer lives and its disk answers.
    package var heartbeat: UInt64 { ends.heartbeat }

    /// A reader that starts at `position`, or at the first event kept if that is later.
    package func makeReader(from position: UInt64) -> JournalReader {
        JournalReader(site, segments, quarantine, recent, from: position)
    }

    // MARK: - Cursors

    /// Makes destinations known with the position at which each starts, at most the durable end, durably,
    /// before its first delivery, and takes these for all that are configured: only they hold segments. What is known
    /// already keeps its cursor.
    package func declare(destinations: [(name: String, start: UInt64)]) throws(JournalError) {
        // What is queued may never be on disk: a cursor above everything would say that the end is missing.
        let (first, end) = (firstPosition, durableEnd)
        try cursors.declare(destinations.map { ($0.name, max(min($0.start, end), first)) })
        for (name, position) in cursors.configured(below: first) {
            quarantine.report(
                Gap(positions: position..<first, reason: .removed, path: "the segments below the cursor of \(name)", bytes: 0..<0),
                file: nil)
        }
    }

    /// The cursor kept for a destination; nil if it was never declared.
    package func cursor(of destination: String) -> JournalCursor? { cursors.cursor(of: destination) }

    /// Where a destination began when it was declared first; 0 if it never was.
    package func start(of destination: String) -> UInt64 { cursors.start(of: destination) }

    /// Takes a new cursor, unless it lies below the one there is. Durable after the next commit, which
    /// comes by itself at least every `cursorInterval`.
    package func advance(_ destination: String, to cursor: JournalCursor) { cursors.advance(destination, to: cursor) }

    /// The same, and in the same commit the next cursor of the destination's replay, if one is under way.
    package func advance(
        _ destination: String, to cursor: JournalCursor, replay next: (JournalCursor) -> JournalCursor
    ) { cursors.advance(destination, to: cursor, replay: next) }

    /// Takes how far a passage to a destination is, after each settled batch: about a microsecond, no sync. After a kill it
    /// is the cursor; after a power cut, as it was with the last commit of events. Only of a destination that keeps no
    /// state with its cursor.
    package func settle(_ destination: String, _ cursor: LiveCursor) { cursors.settle(destination, cursor) }

    /// How far a passage to a destination is. For delivery the position is never below the cursor's; nil: there is none.
    package func live(of destination: String, _ kind: LiveCursor.Kind, tag: UInt64) -> LiveCursor? {
        cursors.live(of: destination, kind, tag: tag)
    }

    /// The cursor of the replay that is under way to a destination; nil: none. It holds no segment.
    package func replay(of destination: String) -> JournalCursor? { cursors.replay(of: destination) }
    /// Names of the destinations that have one, configured or not.
    package var replays: [String] { cursors.replays }
    /// Begins a replay, or (nil) ends it. Durable after the next commit.
    package func setReplay(of destination: String, to cursor: JournalCursor?) { cursors.setReplay(destination, to: cursor) }

    /// Returns when every cursor taken so far is durable.
    package func commit() throws(JournalError) {
        try journal("write the cursors") { () throws(SystemError) in try cursors.commit() }
    }

    /// The dead letters of one destination, beside the segments.
    /// - Parameter limit: bytes that they may take.
    package func deadLetters(of destination: String, limit: Int) throws(JournalError) -> DeadLetterStore {
        try DeadLetterStore(site, quarantine, destination: destination, limit: limit)
    }

    /// What `penstock status` shows.
    package func statistics() -> JournalStatistics {
        let all = segments.all
        let (gaps, count) = quarantine.gaps
        let problem = queue.problem
        return JournalStatistics(
            first: firstPosition, next: queue.next, durable: ends.durable, acknowledged: ends.acknowledged,
            bytes: all.reduce(spare.isReady ? site.options.segmentSize : 0) { $0 + $1.fileSize }, segments: all.count,
            queuedBytes: queue.queuedBytes, gaps: gaps, gapCount: count, problem: problem?.detail,
            isFull: problem?.isFull ?? false, isBlocked: problem?.blocks ?? false, space: problem?.space, retainSize: site.options.retainSize, retainTime: site.options.retainTime,
            whenFull: site.options.whenFull, removedForSpace: segments.removedForSpace, dropped: cursors.dropped)
    }
}
