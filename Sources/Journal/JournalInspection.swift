/// What an inspection of a journal's files found; `penstock journal verify --json` prints it. The names
/// in the JSON are a contract with scripts: they are added to, never changed. Times are RFC 3339.
package struct JournalInspection: Codable, Sendable, Equatable {
    package enum Verdict: String, Codable, Sendable { case whole, damaged }

    /// `damaged` if there is a problem.
    package private(set) var verdict = Verdict.whole
    package var directory: String
    package var uuid: String
    /// Positions: of the first event kept, and after the last one.
    package var first: UInt64
    package var next: UInt64
    /// The position below which everything was durable when the cursors were written last.
    package var durableEnd: UInt64
    /// Of all segments, the spare one included.
    package var bytes: Int
    /// Events and batches that are whole; of sealed segments only if everything was read.
    package var events: UInt64 = 0
    package var batches = 0
    package var segments: [Segment] = []
    package var gaps: [Gap] = []
    package var cursors: [Cursor] = []
    package var cursorSlots: [CursorSlot] = []
    package var deadLetters: [DeadLetters] = []
    package var quarantine: [File] = []
    /// A sentence for each damage.
    package var problems: [String] = [] {
        didSet { verdict = problems.isEmpty ? .whole : .damaged }
    }
    /// What is no damage, but worth knowing: interrupted writes, one cursor slot that is not whole.
    package var notes: [String] = []

    package struct Segment: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable {
            case sealed
            /// The last one, which is written on, or would be.
            case current
            /// Has lost its seal, or never got one.
            case unsealed
        }

        package var name: String
        package var state: State
        package var first: UInt64
        /// The position after the last event.
        package var end: UInt64
        /// Of the file, and of the batches in it.
        package var bytes: Int
        package var usedBytes: Int
        /// nil: only the seal was read.
        package var batches: Int?
        package var events: UInt64?
        /// Receive times; nil: it is empty.
        package var earliest: String?
        package var latest: String?

        enum CodingKeys: String, CodingKey {
            case name, state, first, end, bytes, batches, events, earliest, latest
            case usedBytes = "used_bytes"
        }
    }

    package struct Gap: Codable, Sendable, Equatable {
        /// Positions, or for dead letters the letters' numbers; `end` is exclusive.
        package var first: UInt64
        package var end: UInt64
        /// damaged, interrupted, segment_missing, end_missing, removed.
        package var reason: String
        /// Relative to the directory.
        package var file: String
        package var offset: Int
        package var length: Int
        /// When the batches in front and behind were received; nil: there is none.
        package var after: String?
        package var before: String?
        /// The copy in the quarantine, if there is one.
        package var copy: String?
    }

    package struct Cursor: Codable, Sendable, Equatable {
        package var destination: String
        package var position: UInt64
        /// The first event it was to get; nil: the manifest does not know it.
        package var start: UInt64?
        package var lagEvents: UInt64
        /// Of what the destination keeps with it.
        package var stateBytes: Int

        enum CodingKeys: String, CodingKey {
            case destination, position, start
            case lagEvents = "lag_events"
            case stateBytes = "state_bytes"
        }
    }

    package struct CursorSlot: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable { case whole, empty, damaged }
        package var state: State
        package var generation: UInt64?
    }

    package struct DeadLetters: Codable, Sendable, Equatable {
        /// The directory's name: the destination's, with other characters than letters, digits, `-`, `_` and
        /// inner dots as %XX.
        package var name: String
        package var letters: UInt64
        package var bytes: Int
        package var gaps: [Gap]
    }

    package struct File: Codable, Sendable, Equatable {
        package var name: String
        package var bytes: Int
    }

    enum CodingKeys: String, CodingKey {
        case verdict, directory, uuid, first, next, bytes, events, batches, segments, gaps, cursors, quarantine, problems, notes
        case durableEnd = "durable_end"
        case cursorSlots = "cursor_slots"
        case deadLetters = "dead_letters"
    }
}
