// Journal: one append-only log on disk, and a cursor into it for each destination.
//
// An accepted event is written once and gets the next position. The writer commits events in groups. Each destination
// reads the log with its own reader, and its cursor records which events are settled. Retention removes segments that
// no destination needs any more. The room depends on Events, Platform and Telemetry.
//
// # Invariants
//
// - The durable end advances only after the fdatasync of the commit has returned (with `sync: never`, after the write).
//   Readers see no event above it.
// - Durable bytes of a segment never change. No segment is truncated. A block that is written again gets the same
//   durable bytes at the same offset.
// - The position of a durable event never changes and is never assigned to another event. Positions only increase.
// - All events of an append are queued, or none. `append` never blocks on the disk.
// - A reader returns events only from batches whose header and payload checksums match.
// - A segment is removed only after the on-disk cursor of every configured destination has passed it. With
//   `drop_oldest` the cursors are first moved, durably, and the loss is counted and logged.
// - After a write or sync of a segment fails, the process never writes or syncs that file again: the kernel may have
//   marked the lost pages clean. Events that are not committed are still in memory and go to a fresh segment.
// - Each missing or damaged range is reported once, as a `Gap` with its exact positions. After 1,000 gaps, further ones
//   are only counted.
// - The disk and the clock are Platform's protocols. `JournalWriter.step` and `JournalKeeper.step` wait only for the
//   disk, so the simulator runs the same code in one thread.
//
// The journal never parses an event's JSON, never replaces a missing manifest where data exists, and never skips an
// event silently.
//
// # Threads
//
// - Any thread: `append` reserves a place under the queue's lock, and copies the events to it. Cursors are advanced.
// - `journal-writer`: takes the whole queue, writes and syncs it, publishes the events to readers, calls `onDurable`.
//   Where the load is light and the disk quick, the thread that has appended does so (WriterTurn).
// - `journal-keeper`: prepares the next segment, commits the cursors, runs retention.
// - A reader belongs to one thread at a time. It shares with the writer the segment list, each segment's published
//   length and the recent commits.
//
// No lock that `append` takes is held during disk I/O. Those that are protect the cursor files, the live cursors, the
// making of the spare, each destination's dead letters, and what lagging readers share (SharedReads). The lock of the
// cursor files is taken before that of the cursor table. `stop` ends the writer, then the keeper, commits the cursors,
// and releases the directory's lock.
//
// # Files
//
// Format version 1 (Journal.docc/Format.md) in short: segments have a fixed size and hold batches, and end with a seal.
// A batch is a header and a payload, each with a checksum that is seeded with its place (journal, segment, offset).
//
// Where the filesystem supports it, segments are written past the page cache, in whole blocks (SegmentFile). An event
// is written once, and a destination that keeps up borrows it from the memory that it was written from (RecentCommits).
// Under full load, a commit waits for such a destination (ReaderPause): once it has to read from the disk, it seldom
// catches up before the load ends, and all are slower.
//
// Cached pages would cost more than the disk does: reading a gigabyte through an empty page cache took ten times the
// CPU time of reading past it. A destination that lags therefore reads past the page cache too, but first takes the
// pages that are already cached, and shares what it reads with others that lag at the same place. It does so in sealed
// segments only: a write past the page cache makes the kernel drop the cached page, but not always one that is being
// read. Bytes from there that look damaged are read anew.
//
// # Cursors
//
// A cursor is stored in up to three places:
//
// - `cursors` is durable after each commit of the cursors, at least once every `cursor_interval`. Retention uses only
//   this file.
// - `cursors.live.N` is written after each settled batch, without a sync, for destinations that keep no state with
//   their cursor (HTTP). After a kill, only batches that were in flight are delivered again.
// - Batches of live cursors are committed together with events. They limit what is delivered again after a power cut. A
//   power cut between the beginning of a segment and the first commit in it takes live cursors back to `cursors`.
//
// A live cursor also holds settled ranges above its position, because later batches can succeed while an earlier one is
// in flight: at most 120 ranges, and none with `order: user`. A destination with a state (files, plugins) has no live
// cursor. It stays exactly once because its state and its position are stored together.
//
// # Lanes
//
// A source that reads from a broker or a file stores the position of each of its lanes in the same batch as the events
// before it, so both are there or neither is. Each segment begins with all lanes, so recovery reads one segment. Of an
// interrupted write, a lane's position counts only if none of the lane's events before it is missing.
//
// # A full filesystem
//
// A journal needs room for two segments (the current one and the spare) and the reserve, which is 16 MiB or two
// segments, whichever is less: 144 MiB with the default segments of 64 MiB. Dead letters and the segments that `retain`
// keeps come on top. When no spare can be made, segments that every destination has passed are removed first. Then
// `when_full` decides:
//
// - `block` fills the current segment, then makes clients wait, and checks for room once a second.
// - `reject` fills the current segment, then refuses events.
// - `drop_oldest` removes the oldest segment, as long as that frees space.
//
// The disk can still run full inside a segment whose space was reserved (a quota, a filesystem that shares blocks).
// Then the commit fails: none of its events is acknowledged, they stay in memory and are written again.
//
// # After a crash
//
// Recovery trusts seals, and reads only the last segment and segments without a seal.
//
// - Bytes that are no batch, with a whole batch after them, are damage. They are copied to `quarantine/`, the gap is
//   reported, and reading continues after them. If the later batch records that the durable end was before the gap, the
//   gap belongs to a write that arrived in part: it is reported as interrupted, and its events are not known to have
//   been acknowledged.
// - Bytes that are no batch, with no whole batch after them, are the torn end of the last write. With `sync: always`,
//   none of it was acknowledged. The segment is sealed before them.
// - If only zeros follow the last batch of the last segment, the journal continues to write there.

import Events
import Platform
import Synchronization
import Telemetry

/// An open journal. Any thread, unless a member says otherwise.
package final class Journal: Sendable {
    private struct Running {
        var writer: WorkerThread
        var keeper: WorkerThread
    }

    /// Whether the journal runs, and the resources that `stop` releases.
    private struct Lifecycle {
        /// Held until it is set to nil.
        var lock: (any DiskFile)?
        /// The segment that the writer continues.
        var current: (segment: Segment, file: SegmentFile)?
        var running: Running?
        /// Set after `startStepped`: the owner calls the steps.
        var stepped: JournalWriter?
        var isStopped = false
    }

    package let uuid: JournalUUID

    let context: JournalContext
    let queue: AppendQueue
    let segments: SegmentList
    let spare: SpareSegment
    let cursors: CursorTable
    private let live: LiveCursorTable
    let lanes: LaneTable
    let quarantine: Quarantine
    let ends: JournalEnds
    private let recent: RecentCommits
    let shared: SharedReads
    private let lifecycle: Mutex<Lifecycle>
    let turn: WriterTurn
    let writerBell: Doorbell
    let keeperBell = Doorbell()
    let stopping = Atomic(false)

    private init(
        _ context: JournalContext, lock: any DiskFile, found: Recovery.Result, cursors: CursorTable,
        live: LiveCursorTable,
        quarantine: Quarantine, ends: JournalEnds
    ) {
        self.context = context
        self.cursors = cursors
        self.live = live
        self.quarantine = quarantine
        uuid = context.uuid
        segments = SegmentList(found.segments)
        spare = SpareSegment(context, quarantine)
        self.ends = ends
        let lanes = found.lanes?.lanes ?? [:]
        self.lanes = LaneTable(found.lanes, segmentSize: context.options.segmentSize)
        let writerBell = Doorbell()
        self.writerBell = writerBell
        turn = WriterTurn(clock: context.clock)
        recent = RecentCommits(context.options, onRoom: { writerBell.ring() })
        shared = SharedReads(context.options, disk: context.disk)
        let room = found.current.map { $0.segment.capacity - $0.file.offset } ?? 0
        queue = AppendQueue(
            options: context.options, clock: context.clock, next: found.next, lanes: lanes, room: room,
            bell: writerBell)
        lifecycle = Mutex(Lifecycle(lock: lock, current: found.current))
    }

    /// Opens the journal in a directory, or creates one there, and recovers its contents. No event is committed before
    /// `start`.
    ///
    /// - Parameters:
    ///   - timings: measures how long the disk takes; nil: nothing does.
    ///   - generator: the source of a new journal's UUID.
    /// - Throws: `.locked` if another process holds the journal; `.inconsistent` instead of starting a new journal over
    ///   existing data; `.unsupported`, `.invalidOptions`, `.io`.
    package static func open(
        directory: String, options: JournalOptions, disk: any Disk, clock: any Clock, telemetry: Telemetry,
        timings: JournalTimings? = nil, generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) throws(JournalError) -> Journal {
        try options.validate()
        let (lock, names) = try journal("open the directory") { () throws(SystemError) in
            try disk.makeDirectory(directory, permissions: 0o750)
            let lock = try disk.open(directory + "/lock", .createOrReadWrite)
            return (try lock.tryLock() ? lock : nil, try disk.list(directory))
        }
        guard let lock else {
            throw JournalError(
                .locked,
                "journal: \(directory) is in use by another process: stop that one first (systemctl stop penstock)")
        }
        let known = try Manifest.read(in: directory, disk, options.protections)
        var generator = generator
        let context = JournalContext(
            directory: directory, uuid: known?.uuid ?? JournalUUID(using: &generator), options: options, disk: disk,
            clock: clock, telemetry: telemetry, timings: timings)
        let manifest = if let known { known } else { try context.makeManifest(besides: names) }
        var file = CursorFile(context)
        let contents = try journal("read the cursors") { () throws(SystemError) in try file.load() }
        let kept = contents?.latest
        if let contents, contents.hasDamagedSlot {
            telemetry.emit(JournalCursorSlotDamaged(path: context.path(CursorFile.name), isOtherWhole: kept != nil))
        }
        let quarantine = Quarantine(context)
        let existed =
            context.protections.contains(.nextAboveCursors)
            ? max(
                kept?.durableEnd ?? 0, kept?.cursors.values.map(\.position).max() ?? 0,
                manifest.starts.values.max() ?? 0)
            : 0
        let recovery = Recovery(context: context, quarantine: quarantine, known: existed)
        if kept == nil { try recovery.refuseForeign(names) }
        let found = try recovery.run(names)
        try LaneTable.check(found.lanes?.lanes ?? [:], options)
        // The cursors' checksum includes the journal's UUID. So even an empty set of cursors proves which journal the
        // segments belong to.
        if contents == nil, found.segments.isEmpty, context.protections.contains(.cursorsFromTheBeginning) {
            try journal("write the cursors") { () throws(SystemError) in try file.write([:], durableEnd: found.next) }
        }
        let ends = JournalEnds(found.next)
        let live = try LiveCursorTable(context, found: found.cursors, end: found.next, names: names)
        let cursors = CursorTable(
            context, manifest: manifest, file: file, kept: kept ?? CursorFile.Slot(), live: live,
            first: found.segments.first?.firstPosition ?? found.next, ends: ends)
        let opened = Journal(
            context, lock: lock, found: found, cursors: cursors, live: live, quarantine: quarantine, ends: ends)
        telemetry.emit(
            JournalRecovered(
                directory: directory, segments: found.segments.count, first: opened.firstPosition, next: found.next))
        return opened
    }

    // MARK: - Life

    /// Starts the writer and the keeper. Call it once.
    /// - Parameters:
    ///   - onDurable: called after each commit with the acknowledged end, on the thread that made it; it must return
    ///     quickly.
    ///   - onSpace: called when there is room again after `append` returned `.busy`; on any thread.
    package func start(
        onDurable: @escaping @Sendable (UInt64) -> Void = { _ in }, onSpace: @escaping @Sendable () -> Void = {}
    ) {
        lifecycle.withLock { lifecycle in
            let (writer, keeper) = begin(&lifecycle, onDurable)
            turn.begin(writer, onSpace: onSpace)
            lifecycle.running = Running(
                writer: WorkerThread(name: "journal-writer") { self.write(writer, onSpace) },
                keeper: WorkerThread(name: "journal-keeper") { self.keep(keeper, onSpace) })
        }
    }

    /// Like `start`, but without threads: the owner calls the steps.
    package func startStepped(
        onDurable: @escaping @Sendable (UInt64) -> Void = { _ in }, onSpace: @escaping @Sendable () -> Void = {}
    ) -> JournalSteps {
        lifecycle.withLock { lifecycle in
            let (writer, keeper) = begin(&lifecycle, onDurable)
            lifecycle.stepped = writer
            return JournalSteps(self, writer, keeper, onSpace: onSpace)
        }
    }

    private func begin(
        _ lifecycle: inout Lifecycle, _ onDurable: @escaping @Sendable (UInt64) -> Void
    ) -> (JournalWriter, JournalKeeper) {
        precondition(
            lifecycle.running == nil && lifecycle.stepped == nil && !lifecycle.isStopped, "a journal is started once")
        let writer = JournalWriter(
            context, queue: queue, segments: segments, spare: spare, ends: ends, recent: recent, live: live,
            lanes: lanes,
            current: lifecycle.current,
            onDurable: onDurable)
        lifecycle.current = nil
        return (
            writer,
            JournalKeeper(context, queue: queue, segments: segments, spare: spare, cursors: cursors, lanes: lanes)
        )
    }

    /// Writes and syncs what is queued, commits the cursors, releases the lock. Returns then, or if the disk fails.
    package func stop() {
        queue.end()
        stopping.store(true, ordering: .releasing)
        let (running, stepped) = lifecycle.withLock { lifecycle in
            lifecycle.isStopped = true
            return (exchange(&lifecycle.running, with: nil), exchange(&lifecycle.stepped, with: nil))
        }
        spare.hurry()
        writerBell.ring()
        running?.writer.join()
        turn.end()
        keeperBell.ring()
        running?.keeper.join()
        if let stepped { write(stepped, {}) }
        do throws(SystemError) { try cursors.commit() } catch {
            context.telemetry.emit(JournalCursorCommitFailed(detail: "\(error)"))
        }
        lifecycle.withLock { lifecycle in
            lifecycle.current = nil
            lifecycle.lock = nil
        }
    }

    private func keep(_ keeper: JournalKeeper, _ onSpace: @Sendable () -> Void) {
        while !stopping.load(ordering: .acquiring) {
            keeperBell.wait(until: step(keeper, onSpace))
        }
    }

    func step(_ keeper: JournalKeeper, _ onSpace: @Sendable () -> Void) -> Instant {
        let (newSpare, next) = keeper.step()
        if newSpare { writerBell.ring() }
        if queue.spaceToTell() { onSpace() }
        return next
    }

    /// Applies new options at once, except the segment size and the sizes of the memory: memory and files are laid out
    /// for these, so they change at the next start.
    /// - Throws: `.invalidOptions`; no option changes then.
    package func configure(_ options: JournalOptions) throws(JournalError) {
        try options.validate()
        var next = options
        next.segmentSize = context.options.segmentSize
        next.memoryBytes = context.options.memoryBytes
        next.queueBytes = context.options.queueBytes
        context.setOptions(next)
        writerBell.ring()
        keeperBell.ring()
    }

    // MARK: - Positions

    /// The position after the last event that readers may see. Only grows.
    package var durableEnd: UInt64 { ends.durable }
    /// The position after the last event that may be acknowledged: the durable end, or ahead of it (`sync: interval`).
    package var acknowledgedEnd: UInt64 { ends.acknowledged }
    /// The position of the first event kept.
    package var firstPosition: UInt64 { segments.first?.firstPosition ?? ends.durable }
    /// Grows at least once a second while the writer's thread lives and its disk responds.
    package var heartbeat: UInt64 { ends.heartbeat }

    /// A reader that starts at `position`, or at the first event kept if that is later.
    package func makeReader(from position: UInt64) -> JournalReader {
        JournalReader(context, segments, quarantine, recent, shared, from: position)
    }
}
