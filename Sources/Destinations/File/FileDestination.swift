// The file destination: writes events as lines of JSON or rows of CSV, plain or compressed, into one file or into files
// named by events' values. Each event is written exactly once, across kill -9 and power cut.
//
// `open` cuts off everything that was written after the cursor; those events are delivered again. What the journal can
// no longer deliver again is copied to a file beside it first (FileTail). The ledger
// (FileLedger) says what to cut: it is a write-ahead record of each file's length before a write. The cursor's state is
// a place in the ledger; the records from that place on apply. This requires:
// - A file is written only while it is open. It is opened only once its length is durable in the ledger, after the
//   place of every cursor that a crash may leave.
// - A checkpoint appends the lengths of all open files to the ledger, which begins a new place. The cursor with that
//   place is reported once files and ledger are on disk.
// - Of several recorded lengths of one file, the smallest applies. A file is identified by device, inode and time of
//   birth, not by its name: other processes may rename it.
// Closed files need no record, so the ledger stays as small as `open_files` allows.
//
// A rotation renames P to R, a name that is free. It happens between two divisions of a batch (BatchDivision):
//   1. Sync everything. Append {P is being renamed to R} to the ledger. Set the cursor to the division's first event,
//      and commit it: P is complete and settled.
//   2. Rename P to R. Fsync the directory.
//   3. Create P. Fsync the directory. Make its length durable in the ledger.
// A crash before step 1 is durable has no effect. After step 1, the identity of the file at P tells the state: if it is
// the recorded one, the rename did not happen; P is continued, and rotated again when an event requires it. Otherwise
// the rename did happen. After step 3, P is cut to length 0.
//
// With `sync` at checkpoints, another thread makes the syncs (FileSyncer), so that delivery doesn't wait for the disk.
// The cursor of that moment is reported at the next checkpoint, which waits if the sync has not returned. So at most
// two intervals of writes are unsynced. What was appended is written to the disk in pieces before it is synced: commits
// of the journal on the same disk would otherwise wait behind megabytes.
//
// Other processes may rename or delete a file (logrotate), or truncate it (copytruncate). Before each write, the file's
// identity and size are therefore compared with those at its path. On a mismatch the file is synced and closed, and a
// file that is missing is created again. No other process may append to a file. Files that were renamed while the
// daemon was down are found by their identity in the same directory, and cut there.
//
// The newest file is always at the configured path. Each share of a batch in a plain file is whole lines in one pwrite,
// so a reader sees whole lines, except for the one being written. A failed write is cut back to the last good length
// and retried. If other shares of the same division are already in other files, everything is opened again at the
// cursor.

import Delivery
import Events
import Platform
import Telemetry

/// Writes events to files. Runs on its worker's thread; blocks.
package final class FileDestination: Destination {
    /// How long an idle file stays open.
    static let idleLimit = Duration.seconds(60)

    let name: String
    let options: FileDestinationOptions
    let disk: any Disk
    let clock: any Clock
    let telemetry: Telemetry
    let commit: (Cursor) throws -> Void

    let division: BatchDivision
    private let compressor: (any PayloadCompressor)?
    private var compressed: [UInt8] = []
    /// The bytes at the beginning of each new file (compressed, if the file is).
    let header: [UInt8]

    let ledger: FileLedger
    /// The ledger's place for the next cursor; nil: the ledger was not begun, or can't be trusted.
    var place: FileLedger.Place?
    /// Open files by path. The ledger holds each one's length after `place`.
    var files: [String: OpenFile] = [:]
    /// A file was opened, written, closed or renamed since the ledger's last place.
    var isChanged = false
    /// No cursor is set below this position.
    var floor: UInt64 = 0
    /// The journal's end; nil: there is no journal to compare the files with.
    let bound: (any PositionBound)?
    /// Set while `open` cuts files.
    var tail: FileTail?
    /// Makes syncs in the background; nil: `checkpoint` waits for each sync.
    let syncer: FileSyncer?
    /// The cursor that is valid once the background sync has returned; nil: no sync is running.
    var syncing: Cursor?
    /// Set when the content on disk is unknown. Files and ledger must then be opened again.
    var failure: (any Error)?
    /// The number of files that events have created in this hour.
    var made = (hour: Int64(0), count: 0)
    private let retention: FileRetention?
    private var lastLook: Instant?

    /// - Parameters:
    ///   - name: the destination's name in the configuration, for messages.
    ///   - ledger: the path of its ledger without the number, in a directory of the journal's.
    ///   - syncer: its own syncer, for syncs in the background.
    ///   - bound: the journal's end, with which files are compared before they are cut.
    ///   - commit: stores the cursor and returns when it is durable.
    /// - Throws: when the options are invalid: an unknown time zone, a relative path.
    package init(
        name: String, options: FileDestinationOptions, ledger: String, disk: any Disk, clock: any Clock,
        telemetry: Telemetry, syncer: FileSyncer? = nil, bound: (any PositionBound)? = nil,
        commit: @escaping (Cursor) throws -> Void
    ) throws {
        self.name = name
        self.options = options
        self.disk = disk
        self.clock = clock
        self.telemetry = telemetry
        self.syncer = syncer
        self.bound = bound
        self.commit = commit
        self.ledger = FileLedger(path: ledger, disk: disk)
        division = try BatchDivision(options)
        let compressor = try options.compression.makeCompressor()
        var header = division.header
        if let compressor, !header.isEmpty {
            // The header is a separate compressed unit, so that `beginsWithHeader` can compare it in an existing
            // file.
            header = []
            try compressor.compress(division.header.span, into: &header)
        }
        self.header = header
        self.compressor = compressor
        retention = try FileRetention(options)
    }

    /// One batch at a time: the recorded position belongs to the current ends of the files.
    package var limits: DestinationLimits { DestinationLimits(maximumInFlight: 1) }

    package func open(from cursor: Cursor) throws -> UInt64? {
        close()
        floor = cursor.position
        tail = bound.map { FileTail($0, cursor: floor) }
        defer { tail = nil }
        try recover(cursor.state)
        try bound?.verify()
        // A fixed path is opened before the first event, so that a missing permission is reported at once.
        if division.isFixed {
            let now = clock.wallClock()
            let path = try division.path(at: now)
            try rotateDue([FileShare(path: path, window: .min)], counts: [0], at: floor)
            try open([FileShare(path: path, window: division.window(now))])
        }
        return nil
    }

    package func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        var done = 0
        do {
            if let failure { throw failure }
            while done < batch.events.count {
                let position = batch.livePosition ?? batch.events[done].position
                var (shares, end) = try division.divide(batch, from: done, room: room, admit: admit)
                try write(&shares, of: batch, at: position)
                done = end
            }
            if options.sync == .always { try syncFiles() }
            claim.settle(.all(.delivered))
        } catch {
            let again = Outcome.retry(reason: "\(error)")
            // A failure discards everything written since the cursor.
            guard done > 0, failure == nil else { return claim.settle(.all(again)) }
            claim.settle(
                .each(
                    Array(repeating: .delivered, count: done)
                        + Array(repeating: again, count: batch.events.count - done)))
        }
    }

    package func checkpoint() throws -> [UInt8]? {
        if let failure { throw failure }
        try tidy()
        try makeDurable()
        return place?.encoded
    }

    package var checkpointsLate: Bool { syncer != nil && options.sync == .atCheckpoints }

    package func checkpoint(settled position: UInt64) throws -> Cursor? {
        if let failure { throw failure }
        floor = max(floor, position)
        let durable = try endBackgroundSync()
        try tidy()
        if ledger.isLarge {
            try settle(at: position)
        } else if let syncer, options.sync == .atCheckpoints {
            guard !isChanged else {
                try markPlace()
                beginBackgroundSync(syncer, Cursor(position: position, state: place?.encoded ?? []))
                return durable
            }
        } else {
            try makeDurable()
        }
        return Cursor(position: position, state: place?.encoded ?? [])
    }

    private func makeDurable() throws {
        try syncFiles()
        try markPlace()
        try syncLedger()
    }

    package func close() {
        // The sync's result doesn't matter: the next `open` starts at the recorded lengths.
        _ = try? endBackgroundSync()
        files = [:]
        ledger.close()
        place = nil
        isChanged = false
        failure = nil
    }

    /// Periodic work: frees memory, closes idle files, removes old files.
    private func tidy() throws {
        // Don't keep the buffer between bursts.
        compressed = []
        try closeIdle()
        guard let retention else { return }
        let now = clock.now()
        if let lastLook, now - lastLook < FileRetention.interval { return }
        lastLook = now
        do {
            let live = Set(files.keys)
            guard let removed = try retention.removeOld(now: clock.wallClock(), live: live, disk) else { return }
            telemetry.emit(
                OldFilesRemoved(destination: name, files: removed.files, bytes: removed.bytes, path: removed.last))
        } catch {
            telemetry.emit(OldFilesStay(destination: name, cause: "\(error)"))
        }
    }

    /// Writes shares of different files: all of them, or none if one fails.
    private func write(_ shares: inout [FileShare], of batch: OutboundBatch, at position: UInt64) throws {
        let last = batch.events.last?.position ?? position
        if shares.count == 1, let slice = shares[0].slice {
            // The common case: nothing is copied.
            let payload = batch.payload.span.extracting(slice)
            guard let compressor else {
                try prepare(shares, counts: [payload.count], at: position)
                return try put(payload, shares[0].path, upTo: last)
            }
            // Moved out of the property while it is borrowed, and put back for the next batch.
            var output: [UInt8] = []
            swap(&output, &compressed)
            defer { swap(&output, &compressed) }
            output.removeAll(keepingCapacity: true)
            try compressor.compress(payload, into: &output)
            try prepare(shares, counts: [output.count], at: position)
            return try put(output.span, shares[0].path, upTo: last)
        }
        if let compressor {
            for number in shares.indices {
                var output: [UInt8] = []
                let bytes = shares[number].bytes
                try compressor.compress(bytes.span, into: &output)
                shares[number].bytes = output
            }
        }
        try rotateDue(shares, counts: shares.map(\.bytes.count), at: position)
        var isBegun = false
        do {
            // Open no more files at a time than `openFiles` allows.
            var rest = shares[...]
            while !rest.isEmpty {
                let some = rest.prefix(max(1, options.openFiles))
                rest = rest.dropFirst(some.count)
                try open(Array(some))
                for share in some {
                    let bytes = share.bytes
                    try put(bytes.span, share.path, upTo: last)
                    isBegun = true
                }
            }
        } catch {
            if isBegun { failure = error }
            throw error
        }
    }

    /// - Parameter last: no event of the bytes has a higher position.
    private func put(_ bytes: Span<UInt8>, _ path: String, upTo last: UInt64) throws {
        guard let file = files[path] else { throw FileDestinationError("\(path) is not open") }
        isChanged = true
        file.lastUsed = clock.now()
        try raise(file, above: last)
        try file.append(bytes, header: header)
    }

    private func prepare(_ shares: [FileShare], counts: [Int], at position: UInt64) throws {
        try rotateDue(shares, counts: counts, at: position)
        try open(shares)
    }
}
