// The file destination: lines of JSON or rows of CSV, plain or compressed, in one file or in as many as
// events' values call for, exactly once across kill -9 and power cut.
//
// At open, everything that was written behind the cursor is cut off: those events come again. What there
// is to cut, the ledger says (FileLedger): a write-ahead record of how long each file was before it was
// written to. The cursor's state is the place in the ledger from which on that counts. So:
//   - a file is written to only while it is open, and it is opened only when its length stands in the
//     ledger, durably, behind the place of every cursor that may be found after a crash;
//   - at a checkpoint the lengths of all open files are put into the ledger, which begins a new place; the
//     cursor with that place is reported once files and ledger are on disk;
//   - of several lengths of one file, the smallest counts. Which file is meant, its identity says (device,
//     inode, time of birth), not its name: others may rename it.
// Files that are closed need no word in the ledger, so it stays as small as `open_files` allows.
//
// A rotation of P to R, a name that nobody has, comes between two divisions of a batch (BatchDivision):
//   1. everything is synced; {P is being renamed to R} goes into the ledger, the cursor is set to the
//      division's first event and committed: P is whole and settled
//   2. rename P to R; fsync the directory
//   3. create P, fsync the directory; its length goes into the ledger, durably
// Crash before 1 is durable: as if nothing had begun. After 1, P has the identity of the ledger: the rename
// did not happen; P is continued, and rotated again when an event calls for it. Otherwise it did.
// After 3: P is cut to nothing.
//
// With `sync` at checkpoints, the syncs are made on another thread (FileSyncer), so that delivery does not
// wait for the disk; the cursor of that moment is reported at the next checkpoint, which waits if the sync
// has not returned: what is unsynced never grows beyond two intervals.
//
// Others may rename or delete a file (logrotate), or truncate it (copytruncate): before each write its
// identity and size are compared with what is at its path. What does not agree is let go of, synced, and
// made anew if it is missing. Nobody else may append to it. Files renamed while nobody looked (the daemon
// was down) are found by their identity in the same directory, and cut there.
//
// The newest file is always at the configured path. With a plain file, each share of a batch is whole lines
// in one pwrite, so a reader sees whole lines except for the one being written. A write that fails is taken
// back to the last good length and offered again; if shares of the same division are in other files
// already, everything is opened anew from the cursor.

import Delivery
import Events
import Platform
import Telemetry

/// Writes events to files. On its worker's thread; blocks.
package final class FileDestination: Destination {
    /// How long a file stays open that nothing is written to, where its name is not the only one.
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
    /// What a new file begins with, as it stands in the file.
    let header: [UInt8]

    let ledger: FileLedger
    /// What the next cursor is to say; nil: the ledger was not begun, or cannot be trusted.
    var place: FileLedger.Place?
    /// Open files by path. Each one's length stands in the ledger behind `place`.
    var files: [String: OpenFile] = [:]
    /// Something was opened, written, closed or renamed since the ledger's last place.
    var isChanged = false
    /// Cursors are never set below this.
    var floor: UInt64 = 0
    /// Makes syncs in the background; nil: `checkpoint` waits for each.
    let syncer: FileSyncer?
    /// The cursor that holds once the sync in the background has returned; nil: none is under way.
    var syncing: Cursor?
    /// What is on disk is unknown until files and ledger are opened again.
    var failure: (any Error)?
    /// Files that events have made, and the hour that they were made in.
    var made = (hour: Int64(0), count: 0)
    private let retention: FileRetention?
    private var lastLook: Instant?

    /// - Parameters:
    ///   - name: the destination's name in the configuration, for messages.
    ///   - ledger: path of its ledger, without the number; in a directory of the journal's.
    ///   - syncer: its own, for syncs in the background.
    ///   - commit: takes the cursor and returns when it is durable.
    /// - Throws: when the options cannot be used: no such time zone, no absolute path.
    package init(
        name: String, options: FileDestinationOptions, ledger: String, disk: any Disk, clock: any Clock,
        telemetry: Telemetry, syncer: FileSyncer? = nil, commit: @escaping (Cursor) throws -> Void
    ) throws {
        self.name = name
        self.options = options
        self.disk = disk
        self.clock = clock
        self.telemetry = telemetry
        self.syncer = syncer
        self.commit = commit
        self.ledger = FileLedger(path: ledger, disk: disk)
        division = try BatchDivision(options)
        let compressor = try options.compression.makeCompressor()
        var header = division.header
        if let compressor, !header.isEmpty {
            // A unit of its own, so that a file that was begun earlier shows what it begins with.
            header = []
            try compressor.compress(division.header.span, into: &header)
        }
        self.header = header
        self.compressor = compressor
        retention = try FileRetention(options)
    }

    /// One batch at a time: the recorded position is that of the files' ends.
    package var limits: DestinationLimits { DestinationLimits(maximumInFlight: 1) }

    package func open(from cursor: Cursor) throws -> UInt64? {
        close()
        floor = cursor.position
        try recover(cursor.state)
        // A path that is always the same can be tried before the first event, so that a missing
        // permission shows at once.
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
            // A failure takes back what was written since the cursor, too.
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
        // Whatever became of it: the next `open` begins at the recorded lengths.
        _ = try? endBackgroundSync()
        files = [:]
        ledger.close()
        place = nil
        isChanged = false
        failure = nil
    }

    /// What is due now and then: memory given back, idle files closed, old ones removed.
    private func tidy() throws {
        // Between bursts it need not lie around.
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

    /// Writes shares that lie in different files: all of them, or, if that cannot be, none.
    private func write(_ shares: inout [FileShare], of batch: OutboundBatch, at position: UInt64) throws {
        if shares.count == 1, let slice = shares[0].slice {
            // The way of nearly all: nothing is copied.
            let payload = batch.payload.span.extracting(slice)
            guard let compressor else {
                try prepare(shares, counts: [payload.count], at: position)
                return try put(payload, shares[0].path)
            }
            // Taken out of the property while it is borrowed, put back for the next batch.
            var output: [UInt8] = []
            swap(&output, &compressed)
            defer { swap(&output, &compressed) }
            output.removeAll(keepingCapacity: true)
            try compressor.compress(payload, into: &output)
            try prepare(shares, counts: [output.count], at: position)
            return try put(output.span, shares[0].path)
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
            // No more at a time than may be open.
            var rest = shares[...]
            while !rest.isEmpty {
                let some = rest.prefix(max(1, options.openFiles))
                rest = rest.dropFirst(some.count)
                try open(Array(some))
                for share in some {
                    let bytes = share.bytes
                    try put(bytes.span, share.path)
                    isBegun = true
                }
            }
        } catch {
            if isBegun { failure = error }
            throw error
        }
    }

    private func put(_ bytes: Span<UInt8>, _ path: String) throws {
        guard let file = files[path] else { throw FileDestinationError("\(path) is not open") }
        isChanged = true
        file.lastUsed = clock.now()
        try file.append(bytes, header: header)
    }

    private func prepare(_ shares: [FileShare], counts: [Int], at position: UInt64) throws {
        try rotateDue(shares, counts: counts, at: position)
        try open(shares)
    }
}
