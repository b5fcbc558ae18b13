/// Positions that cannot be read, and the reason.
package struct Gap: Sendable, Equatable {
    package enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// Bytes that were durable have changed.
        case damaged
        /// A write was interrupted after later bytes of it had arrived. None of these events is known to have been on
        /// disk.
        case interrupted
        /// A segment file is missing.
        case segmentMissing
        /// Retention removed them while the destination was not configured, or somebody removed the files.
        case removed
        /// A file, or the journal, ends before its last events: it is an older copy, or a file is missing.
        case endMissing

        /// The reason in the JSON of an inspection.
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
            case .removed: "events were removed before a destination received them"
            case .endMissing: "a file is missing, or ends before its last events (perhaps an older copy)"
            }
        }
    }

    /// Acknowledged events were lost, and not because `journal` options allow it.
    var isLoss: Bool {
        switch reason {
        case .damaged, .segmentMissing, .endMissing: true
        case .interrupted, .removed: false
        }
    }

    package var positions: Range<UInt64>
    package var reason: Reason
    /// The segment file, and the byte range in it.
    package var path: String
    package var bytes: Range<Int>
    /// The path of the copy of these bytes; nil if there is no copy.
    package var copy: String?
}
