// The file destination: NDJSON, plain or compressed, exactly once across kill -9 and power cut.
//
// The cursor carries the file's path and length (`FileState`). At open, what lies behind that
// length is cut off: those events are above the cursor and come again. So between two checkpoints
// only one rule is needed: bytes are written behind the recorded length of the recorded file, and
// nowhere else. Each change of that (another file, a rotation, a length that somebody else
// changed) is made durable through the cursor store before the first byte that relies on it.
//
// A change from file A (length LA) to file B (which has LB bytes, 0 if it is new):
//   1. fdatasync(A)
//   2. create or open B; fsync its directory
//   3. commit {B, LB}, position: that of the first event for B
//   4. write to B
// Crash before 3 is durable: the old state {A, L <= LA}. A is cut to L and continued; B has no byte
// of ours. After 3: A is whole and durable, B is cut to LB and continued. B has vanished: made anew.
//
// A rotation of P (length L) to R, a name that nobody has:
//   1. fdatasync(P)
//   2. commit {P, L, to R}
//   3. rename P to R; fsync the directory
//   4. create P; fsync the directory
//   5. commit {P, 0}
//   6. write to P
// Crash before 2 is durable: as if nothing had begun. After 2, R does not exist: the rename did not
// happen; P is cut to L and continued, and rotated again when an event calls for it. After 2, R
// exists: the rename happened; go on at 4 (a P that is there already is empty, or somebody else's
// and continued from its size). After 5: P is cut to 0.
//
// At an interval the file is synced on another thread (FileSyncer), so that delivery does not wait for
// the disk; the cursor of that moment is reported at the next interval, which waits if the sync has not
// returned: what is unsynced never grows beyond two intervals. A change of files waits for it first, and
// drops its cursor: a later one is on disk then.
//
// Others may rename or delete the file (logrotate), or truncate it (copytruncate): its size by path
// is compared with ours at most once a second, before a write; what does not agree is opened anew
// by its path, and made if it is missing. Events of that second go where the old file went.
// Nobody else may append to it.
//
// The newest file is always at the configured path. With a plain file, each batch is whole lines in
// one pwrite, so a reader sees whole lines except for the one being written. A write that fails
// is taken back to the last good length and offered again.

import Delivery
import Events
import Platform
import Telemetry

/// Writes events to files. On its worker's thread; blocks.
package final class FileDestination: Destination {
    /// How often the file is compared with what is at its path.
    static let lookInterval = Duration.seconds(1)

    let name: String
    let options: FileDestinationOptions
    let disk: any Disk
    let clock: any Clock
    let telemetry: Telemetry
    let commit: (Cursor) throws -> Void

    private var template: PathTemplate
    private let compressor: (any PayloadCompressor)?
    private var compressed: [UInt8] = []
    /// What the next checkpoint is to report; nil: there was no file yet.
    var state: FileState?
    /// The file at `state.path`; nil: it has to be opened (again).
    var file: (any DiskFile)?
    /// Bytes may lie behind `state.length`, of a write that failed.
    var mustCut = false
    /// The file does not end with a line feed: somebody else's last line is not whole.
    var lacksLineFeed = false
    /// Written to since the last fdatasync.
    var isUnsynced = false
    /// Makes syncs in the background; nil: `checkpoint` waits for each.
    let syncer: FileSyncer?
    /// The cursor that holds once the sync in the background has returned; nil: none is under way.
    var syncing: Cursor?
    /// fdatasync failed: what is on disk is unknown until the file is opened again.
    var failure: (any Error)?
    private var lastLook: Instant?

    /// - Parameters:
    ///   - name: the destination's name in the configuration, for messages.
    ///   - syncer: its own, for syncs in the background.
    ///   - commit: takes the cursor and returns when it is durable.
    /// - Throws: when the options cannot be used: no such time zone, no absolute path.
    package init(
        name: String, options: FileDestinationOptions, disk: any Disk, clock: any Clock, telemetry: Telemetry,
        syncer: FileSyncer? = nil, commit: @escaping (Cursor) throws -> Void
    ) throws {
        self.name = name
        self.options = options
        self.disk = disk
        self.clock = clock
        self.telemetry = telemetry
        self.syncer = syncer
        self.commit = commit
        template = try PathTemplate(options.path, timezone: options.timezone)
        compressor = try options.compression.makeCompressor()
    }

    /// Throws what `init` would throw for these options; touches nothing.
    package static func validate(_ options: FileDestinationOptions) throws {
        _ = try PathTemplate(options.path, timezone: options.timezone)
    }

    /// The path of the file that an event received at this time goes to.
    /// - Parameter time: nanoseconds since 1970-01-01 UTC.
    package static func path(at time: Int64, _ options: FileDestinationOptions) throws -> String {
        var template = try PathTemplate(options.path, timezone: options.timezone)
        return try template.filled(at: time).path
    }

    /// One batch at a time: the recorded position is that of the file's end.
    package var limits: DestinationLimits { DestinationLimits(maximumInFlight: 1) }

    package func open(from cursor: Cursor) throws -> UInt64? {
        close()
        state = cursor.state.isEmpty ? nil : try FileState(cursor.state)
        try recover(at: cursor.position)
        // A path that does not depend on time can be tried before the first event, so that a
        // missing permission shows at once.
        if template.isFixed, file == nil || state?.path != options.path {
            try change(to: options.path, window: window(clock.wallClock()), position: cursor.position)
        }
        return nil
    }

    package func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        var done = 0
        do {
            if let failure { throw failure }
            try look()
            while done < batch.events.count {
                let run = try nextRun(of: batch, from: done)
                try write(batch, run)
                done = run.events.upperBound
            }
            claim.settle(.all(.delivered))
        } catch {
            let again = Outcome.retry(reason: "\(error)")
            guard done > 0 else { return claim.settle(.all(again)) }
            claim.settle(
                .each(
                    Array(repeating: .delivered, count: done)
                        + Array(repeating: again, count: batch.events.count - done)))
        }
    }

    package func checkpoint() throws -> [UInt8]? {
        if let failure { throw failure }
        try sync()
        // Between bursts it need not lie around.
        compressed = []
        return state?.encoded
    }

    package var checkpointsLate: Bool { syncer != nil }

    package func checkpoint(settled position: UInt64) throws -> Cursor? {
        guard let syncer else { return Cursor(position: position, state: try checkpoint() ?? []) }
        if let failure { throw failure }
        let durable = try endBackgroundSync()
        compressed = []
        let now = Cursor(position: position, state: state?.encoded ?? [])
        guard isUnsynced else { return now }
        beginBackgroundSync(syncer, now)
        return durable
    }

    package func close() {
        // Whatever became of it: the next `open` begins at the recorded length.
        _ = try? endBackgroundSync()
        file = nil
        state = nil
        mustCut = false
        lacksLineFeed = false
        isUnsynced = false
        failure = nil
        lastLook = nil
    }

    /// Events that go into one file with one write.
    private struct Run {
        var events: Range<Int>
        var payload: Range<Int>
        var path: String
        var window: Int64
    }

    private func nextRun(of batch: OutboundBatch, from start: Int) throws -> Run {
        let first = batch.events[start]
        var filled = try template.filled(at: first.receivedAt)
        let path = filled.path
        let newest = window(first.receivedAt)
        let begin = first.payload.lowerBound
        let room = room(for: first.payload.count + 1, path: path)
        var end = start + 1
        if template.isFixed, options.rotateEvery == nil, room == .max {
            end = batch.events.count
        } else {
            while end < batch.events.count {
                let event = batch.events[end]
                // Those of one position go with one write: the cursor cannot lie between them.
                if event.position == batch.events[end - 1].position {
                    end += 1
                    continue
                }
                if !filled.holds(event.receivedAt) { filled = try template.filled(at: event.receivedAt) }
                // Compared only after the times: nearly all events fall into the same minute.
                guard filled.path == path, window(event.receivedAt) <= newest,
                    event.payload.upperBound + 1 - begin <= room
                else { break }
                end += 1
            }
        }
        return Run(
            events: start..<end, payload: begin..<batch.events[end - 1].payload.upperBound + 1, path: path,
            window: newest)
    }

    /// Bytes that a run may have: what is left in the file, or, if not even one event fits, what
    /// a new file takes. Of compressed files nobody knows before.
    private func room(for event: Int, path: String) -> Int {
        guard let size = options.rotateSize, compressor == nil else { return .max }
        guard let state, state.path == path, file != nil, state.length < size else { return size }
        return event <= size - state.length ? size - state.length : size
    }

    private func window(_ time: Int64) -> Int64 {
        guard let every = options.rotateEvery?.inNanoseconds, every > 0 else { return 0 }
        return time >= 0 ? time / every : (time + 1) / every - 1
    }

    private func write(_ batch: OutboundBatch, _ run: Run) throws {
        let position = batch.livePosition ?? batch.events[run.events.lowerBound].position
        guard run.payload.lowerBound >= 0, run.payload.upperBound <= batch.payload.count else {
            throw FileDestinationError("an event lies outside of its batch")
        }
        let payload = batch.payload.span.extracting(run.payload)
        if let compressor {
            // Taken out of the property while it is borrowed, put back for the next batch.
            var output: [UInt8] = []
            swap(&output, &compressed)
            defer { swap(&output, &compressed) }
            output.removeAll(keepingCapacity: true)
            try compressor.compress(payload, into: &output)
            try prepare(path: run.path, window: run.window, count: output.count, position: position)
            try append(output.span)
        } else {
            try prepare(path: run.path, window: run.window, count: payload.count, position: position)
            try append(payload)
        }
    }

    /// Looks now and then whether our file is still what is at its path.
    private func look() throws {
        guard let state, let file, !mustCut else { return }
        let now = clock.now()
        if let lastLook, now - lastLook < Self.lookInterval { return }
        lastLook = now
        guard try disk.status(state.path)?.size != state.length || file.size() != state.length else { return }
        try sync()
        self.file = nil
        telemetry.emit(FileChangedOutside(destination: name, path: state.path))
    }
}
