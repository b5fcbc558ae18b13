/// Positions that cannot be read, and why.
package struct Gap: Sendable, Equatable {
    package enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// Bytes that were durable have changed.
        case damaged
        /// A write was interrupted, and what came behind it in the same write arrived. None of
        /// these events is known to have been on disk.
        case interrupted
        /// A segment file is not there.
        case segmentMissing
        /// Retention removed them while the destination was not configured, or somebody the files.
        case removed
        /// A file ends before its last events, or the journal does: an older copy, or a file that is gone.
        case endMissing

        /// As the JSON of an inspection has it.
        var name: String {
            switch self {
            case .damaged: "damaged"
            case .interrupted: "interrupted"
            case .segmentMissing: "segment_missing"
            case .removed: "removed"
            case .endMissing: "end_missing"
            }
        }

        package var description: String {
            switch self {
            case .damaged: "damaged bytes"
            case .interrupted: "an interrupted write (not known to have been acknowledged)"
            case .segmentMissing: "a missing segment file"
            case .removed: "events that a destination has not had were removed"
            case .endMissing: "a file is gone, or ends before its last events (an older copy?)"
            }
        }
    }

    package var positions: Range<UInt64>
    package var reason: Reason
    /// The segment file, and the bytes in it.
    package var path: String
    package var bytes: Range<Int>
    /// Where these bytes were copied to, if they could be.
    package var copy: String?
}
