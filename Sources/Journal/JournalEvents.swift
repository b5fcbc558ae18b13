import Telemetry

// The journal's log lines and metrics.

/// Events that were stored cannot be read.
struct JournalGap: NamedEvent {
    static let name = "journal_gap"
    static let messageID = "21fa5aa43eb6533faadc3b0a06590206"
    let level = Level.error
    let gap: Gap
    var fields: [LogField] {
        [.reason(gap.reason), .file(gap.path), .first(gap.positions.lowerBound), .end(gap.positions.upperBound)]
    }
    var message: String {
        "journal: \(gap.reason): positions \(gap.positions.lowerBound) to \(gap.positions.upperBound) (exclusive) are"
            + " missing; all other events can be read"
            + (gap.copy.map { "; the bytes were copied to \($0)" } ?? "")
    }
}

struct JournalTornTail: NamedEvent {
    static let name = "journal_torn_tail"
    static let messageID = "244e65004e665e75b461603137618560"
    let level = Level.notice
    let path: String
    let length: Int
    var fields: [LogField] { [.file(path)] }
    var message: String {
        "journal: \(path) ends in an interrupted write, which is not known to have been acknowledged; whole"
            + " batches end at byte \(length)"
    }
}

/// The last segment was truncated, or `journal.segment_size` has changed.
struct JournalSegmentSize: NamedEvent {
    static let name = "journal_segment_size"
    static let messageID = "7cc4e6560ed658ef8ddf88dac2e10330"
    let level = Level.warning
    let path: String
    let size: Int
    let expected: Int
    let end: UInt64
    var fields: [LogField] { [.file(path), .first(end)] }
    var message: String {
        "journal: \(path) has \(size) bytes, but journal.segment_size is \(expected): if that setting has not changed,"
            + " the file was cut off, and events from position \(end) on may be missing"
    }
}

struct JournalRecovered: NamedEvent {
    static let name = "journal_recovered"
    static let messageID = "4888933f0ad05b74a020701801d1f532"
    let level = Level.info
    let directory: String
    let segments: Int
    let first: UInt64
    let next: UInt64
    var fields: [LogField] { [.file(directory), .first(first), .end(next), .count(segments)] }
    var message: String {
        "journal: \(directory) \(first == next ? "is empty" : "holds positions \(first) to \(next) (exclusive) in")"
            + "\(first == next ? "" : segments == 1 ? " 1 segment" : " \(segments) segments")"
    }
}

struct JournalWriteFailed: NamedEvent {
    static let name = "journal_write_failed"
    static let messageID = "73897b144986596d9d5d21cf869b4f05"
    let level = Level.error
    let detail: String
    var fields: [LogField] { [.reason(detail)] }
    var message: String { "journal: \(detail)" }
}

struct JournalWritesAgain: NamedEvent {
    static let name = "journal_writes_again"
    static let messageID = "77d7c4f37888504cae0db9faa304b8b6"
    let level = Level.notice
    var fields: [LogField] { [] }
    var message: String { "journal: writing again, in a fresh segment" }
}

struct JournalFilesystemFull: NamedEvent {
    static let name = "journal_filesystem_full"
    static let messageID = "96d20b78fe0d5f5b95548f894162f101"
    let level = Level.error
    let directory: String
    let space: JournalSpace
    let blocks: Bool
    var fields: [LogField] { [.file(directory)] }
    var message: String {
        "journal: the filesystem of \(directory) is full: the next segment needs \(space.needed) bytes"
            + " (journal.segment_size and a reserve), and \(space.free) are free; once the current segment is full, "
            + (blocks
                ? "clients wait until there is room (journal.when_full: block)"
                : "events are refused until there is room")
            + ": free space, or lower journal.retain"
    }
}

struct JournalHasSpaceAgain: NamedEvent {
    static let name = "journal_has_space_again"
    static let messageID = "edc9bfead5395183bff3ea455baef413"
    let level = Level.notice
    var fields: [LogField] { [] }
    var message: String { "journal: the filesystem has room again; events are accepted" }
}

struct JournalNoSegment: NamedEvent {
    static let name = "journal_no_segment"
    static let messageID = "b4e4adf13c585556993aa6f40b463f06"
    let level = Level.error
    let detail: String
    var fields: [LogField] { [.reason(detail)] }
    var message: String { "journal: cannot prepare the next segment: \(detail)" }
}

struct JournalFile: NamedEvent {
    static let name = "journal_file_problem"
    static let messageID = "60e75976f9945b068e25bd64ad353ce8"
    let level = Level.warning
    let detail: String
    var fields: [LogField] { [.reason(detail)] }
    var message: String { "journal: \(detail)" }
}

struct JournalCursorLost: NamedEvent {
    static let name = "journal_cursor_lost"
    static let messageID = "333309468c9b523a81c13af4e364f86e"
    let level = Level.error
    let destination: String
    let start: UInt64
    /// Positions that the destination needed and that the journal no longer holds.
    let removed: Range<UInt64>
    var fields: [LogField] { [.destination(destination), .first(start)] }
    var message: String {
        let text =
            "journal: the cursor of destination \(destination) is missing or damaged: everything"
            + " since position \(start) is delivered again"
        guard !removed.isEmpty else { return text }
        return text + "; destination \(destination) loses positions \(removed.lowerBound) to"
            + " \(removed.upperBound) (exclusive) if it has not received them before: the journal has"
            + " removed them (journal.retain)"
    }
}

struct JournalCursorSlotDamaged: NamedEvent {
    static let name = "journal_cursor_slot_damaged"
    static let messageID = "d4ebcdf3680c5fb1ada2a495c8758bf3"
    let level = Level.warning
    let path: String
    let isOtherWhole: Bool
    var fields: [LogField] { [.file(path)] }
    var message: String {
        "journal: \(path): "
            + (isOtherWhole
                ? "one of its two slots is damaged, or its write was interrupted; the other slot is used, and"
                    + " events settled in the last moments before the stop are delivered again"
                : "both of its slots are damaged")
    }
}

struct JournalCursorCommitFailed: NamedEvent {
    static let name = "journal_cursor_commit_failed"
    static let messageID = "e6f20248a46959758465df1649b80167"
    let level = Level.error
    let detail: String
    var fields: [LogField] { [.reason(detail)] }
    var message: String { "journal: cannot make the cursors durable, and will write them again: \(detail)" }
}

struct JournalLiveCursorsFailed: NamedEvent {
    static let name = "journal_live_cursors_failed"
    static let messageID = "c26c8420370b52faba70965696403ae4"
    let level = Level.warning
    let detail: String
    var fields: [LogField] { [.reason(detail)] }
    var message: String {
        "journal: the live cursors cannot be written: \(detail): until the next start, a kill repeats the deliveries"
            + " since the cursors were last committed (journal.cursor_interval)"
    }
}

struct JournalSegmentRemovedForSpace: NamedEvent {
    static let name = "journal_segment_removed_for_space"
    static let messageID = "6a5c3543bf5856489eebe652e017ec67"
    let level = Level.warning
    let path: String
    let end: UInt64
    var fields: [LogField] { [.file(path), .end(end)] }
    var message: String {
        "journal: the filesystem is full: removed \(path) before journal.retain required it; every destination has"
            + " received its events, and events below position \(end) can no longer be replayed"
    }
}

struct JournalDroppedOldest: NamedEvent {
    static let name = "journal_dropped_oldest"
    static let messageID = "f374f5756b055bb6ad1ba2c913721d18"
    let level = Level.error
    let destination: String
    let positions: Range<UInt64>
    var affectedEvents: UInt64? { positions.upperBound - positions.lowerBound }
    var fields: [LogField] {
        [
            .destination(destination), .first(positions.lowerBound), .end(positions.upperBound),
            .count(positions.upperBound - positions.lowerBound),
        ]
    }
    var message: String {
        "journal: full: destination \(destination) loses positions \(positions.lowerBound) to"
            + " \(positions.upperBound) (exclusive), which it had not received (when_full: drop_oldest)"
    }
}

struct JournalSegmentsRemoved: NamedEvent {
    static let name = "journal_segments_removed"
    static let messageID = "f9555f4a0f4558eb9738c3894f9faa65"
    let level = Level.debug
    let count: Int
    let first: UInt64
    var fields: [LogField] { [.count(count), .first(first)] }
    var message: String {
        "journal: retention removed \(count) segment\(count == 1 ? "" : "s"); the first position is now \(first)"
    }
}

/// Stored dead letters cannot be read. Their numbers count from 0 for each destination.
struct DeadLettersDamaged: NamedEvent {
    static let name = "dead_letters_damaged"
    static let messageID = "a44541d000a358fdb43a2b7b0f0a29a0"
    let level = Level.error
    let gap: Gap
    let copy: String?
    var fields: [LogField] { [.reason(gap.reason), .file(gap.path)] }
    var message: String {
        "dead letters: \(gap.path): \(gap.reason): letters \(gap.positions.lowerBound) to \(gap.positions.upperBound)"
            + " (exclusive) are missing; all others are kept" + (copy.map { "; the bytes were copied to \($0)" } ?? "")
    }
}

struct RemovedLettersDamaged: NamedEvent {
    static let name = "removed_letters_damaged"
    static let messageID = "c0888f55240f55d9ac627b8c7d70f64d"
    let level = Level.error
    let path: String
    var fields: [LogField] { [.file(path)] }
    var message: String {
        "dead letters: \(path) is damaged: letters that were retried or dropped may be listed and retried again"
    }
}

struct DeadLettersExpired: NamedEvent {
    static let name = "dead_letters_expired"
    static let messageID = "5db0d81e922654d48a3dba693f707792"
    let level = Level.warning
    let path: String
    let count: UInt64
    var fields: [LogField] { [.file(path), .count(count)] }
    var message: String {
        "dead letters: removed the \(count == 1 ? "oldest letter" : "\(count) oldest letters") in \(path):"
            + " dead_letters.time or dead_letters.size was reached"
    }
}
