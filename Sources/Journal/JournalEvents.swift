import Telemetry

// What the journal tells an operator.

/// Events that were there once cannot be read.
struct JournalGap: NamedEvent {
    static let name = "journal_gap"
    let level = Level.error
    let gap: Gap
    var message: String {
        "journal: \(gap.reason): positions \(gap.positions.lowerBound) to \(gap.positions.upperBound) (exclusive) are"
            + " missing; everything else is read on"
            + (gap.copy.map { "; the bytes were copied to \($0)" } ?? "")
    }
}

struct JournalTornTail: NamedEvent {
    static let name = "journal_torn_tail"
    let level = Level.notice
    let path: String
    let length: Int
    var message: String {
        "journal: \(path) ended in a write that was interrupted and never acknowledged; it is sealed at \(length) bytes"
    }
}

struct JournalRecovered: NamedEvent {
    static let name = "journal_recovered"
    let level = Level.info
    let directory: String
    let segments: Int
    let first: UInt64
    let next: UInt64
    var message: String {
        "journal: \(directory) holds positions \(first) to \(next) (exclusive) in \(segments) segments"
    }
}

struct JournalWriteFailed: NamedEvent {
    static let name = "journal_write_failed"
    let level = Level.error
    let detail: String
    var message: String { "journal: \(detail)" }
}

struct JournalWritesAgain: NamedEvent {
    static let name = "journal_writes_again"
    let level = Level.notice
    var message: String { "journal: writing again, in a fresh segment" }
}

struct JournalNoSegment: NamedEvent {
    static let name = "journal_no_segment"
    let level = Level.error
    let detail: String
    var message: String { "journal: the next segment cannot be prepared: \(detail)" }
}

struct JournalFile: NamedEvent {
    static let name = "journal_file_problem"
    let level = Level.warning
    let detail: String
    var message: String { "journal: \(detail)" }
}

struct JournalCursorLost: NamedEvent {
    static let name = "journal_cursor_lost"
    let level = Level.error
    let destination: String
    let start: UInt64
    var message: String {
        "journal: the cursor of destination \(destination) is missing or damaged: everything since position \(start) is"
            + " delivered again"
    }
}

struct JournalCursorCommitFailed: NamedEvent {
    static let name = "journal_cursor_commit_failed"
    let level = Level.error
    let detail: String
    var message: String { "journal: cursors are not durable, and will be written again: \(detail)" }
}

struct JournalDroppedOldest: NamedEvent {
    static let name = "journal_dropped_oldest"
    let level = Level.error
    let destination: String
    let positions: Range<UInt64>
    var message: String {
        "journal: full: destination \(destination) loses positions \(positions.lowerBound) to"
            + " \(positions.upperBound) (exclusive), which it had not taken (when_full: drop_oldest)"
    }
}

struct JournalSegmentsRemoved: NamedEvent {
    static let name = "journal_segments_removed"
    let level = Level.debug
    let count: Int
    let first: UInt64
    var message: String { "journal: \(count) segments removed by retention; it begins at position \(first) now" }
}
