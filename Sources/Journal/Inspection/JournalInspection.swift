/// The result of inspecting a journal's files; `penstock journal verify --json` prints it. The names in the JSON are a
/// contract with scripts: names may be added, never changed. Times are RFC 3339.
package struct JournalInspection: Codable, Sendable, Equatable {
    package enum Verdict: String, Codable, Sendable { case whole, damaged }

    /// `damaged` if `problems` is not empty.
    package private(set) var verdict = Verdict.whole
    package var directory: String
    package var uuid: String
    /// The position of the first event kept, and the position after the last one.
    package var first: UInt64
    package var next: UInt64
    /// The position below which all events were durable when the cursors were last written.
    package var durableEnd: UInt64
    /// The size of all segment files, including the spare.
    package var bytes: Int
    /// The numbers of whole events and batches. Sealed segments are included only if everything was read.
    package var events: UInt64 = 0
    package var batches = 0
    package var segments: [Segment] = []
    package var gaps: [Gap] = []
    package var cursors: [Cursor] = []
    package var cursorSlots: [CursorSlot] = []
    package var deadLetters: [DeadLetters] = []
    package var quarantine: [File] = []
    /// A sentence for each instance of damage.
    package var problems: [String] = [] {
        didSet { verdict = problems.isEmpty ? .whole : .damaged }
    }
    /// Findings that are not damage: interrupted writes, one cursor slot that is not whole.
    package var notes: [String] = []

    package struct Segment: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable {
            case sealed
            /// The last segment, to which the daemon writes.
            case current
            /// The seal is lost, or was never written.
            case unsealed
        }

        package var name: String
        package var state: State
        package var first: UInt64
        /// The position after the last event.
        package var end: UInt64
        /// The size of the file, and the bytes that its batches use.
        package var bytes: Int
        package var usedBytes: Int
        /// nil if only the seal was read.
        package var batches: Int?
        package var events: UInt64?
        /// Receive times; nil if the segment is empty.
        package var earliest: String?
        package var latest: String?

        enum CodingKeys: String, CodingKey {
            case name, state, first, end, bytes, batches, events, earliest, latest
            case usedBytes = "used_bytes"
        }
    }

    package struct Gap: Codable, Sendable, Equatable {
        /// Positions, or the numbers of dead letters; `end` is exclusive.
        package var first: UInt64
        package var end: UInt64
        /// damaged, interrupted, segment_missing, end_missing or removed.
        package var reason: String
        /// Relative to the journal's directory.
        package var file: String
        package var offset: Int
        package var length: Int
        /// When the batches before and after were received; nil if there is no such batch.
        package var after: String?
        package var before: String?
        /// The copy in quarantine; nil if there is no copy.
        package var copy: String?
    }

    package struct Cursor: Codable, Sendable, Equatable {
        package var destination: String
        package var position: UInt64
        /// The position of the destination's first event; nil if the manifest does not list the destination.
        package var start: UInt64?
        package var lagEvents: UInt64
        /// The size of the state that the destination stores with its cursor.
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
        /// The directory's name: the destination's name with every byte other than letters, digits, `-`, `_` and inner
        /// dots as %XX.
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
        case verdict, directory, uuid, first, next, bytes, events, batches, segments, gaps, cursors, quarantine,
            problems, notes
        case durableEnd = "durable_end"
        case cursorSlots = "cursor_slots"
        case deadLetters = "dead_letters"
    }
}
