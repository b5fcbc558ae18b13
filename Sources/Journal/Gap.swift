/// Positions that cannot be read, and why.
package struct Gap: Sendable, Equatable {
    package enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// Bytes that were durable have changed.
        case damaged
        /// A write was interrupted, and what came behind it in the same write arrived. None of
        /// these events was acknowledged.
        case interrupted
        /// A segment file is not there.
        case segmentMissing
        /// Retention removed them while the destination was not configured, or somebody the files.
        case removed
        /// The journal ends below a cursor: its last events are not there.
        case endMissing

        package var description: String {
            switch self {
            case .damaged: "damaged bytes"
            case .interrupted: "an interrupted write (never acknowledged)"
            case .segmentMissing: "a missing segment file"
            case .removed: "events that a destination has not had were removed"
            case .endMissing: "the end of the journal lies below a cursor"
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
