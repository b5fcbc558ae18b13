import Events
import Routing

extension Configuration {
    package struct Destination: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            case file(File)
            case http(HTTP)
            case plugin(Plugin)
        }
        package enum Start: Sendable, Equatable {
            case now
            case earliest
            /// Nanoseconds since 1970-01-01 UTC.
            case time(Int64)
        }
        package struct Batch: Sendable, Equatable {
            package var events: Int
            package var bytes: Int
            package var wait: Duration
        }
        package struct Retry: Sendable, Equatable {
            package var initial: Duration = .milliseconds(500)
            package var max: Duration = .seconds(300)
            package var giveUpAfter: Duration?
            package var attempts: Int?
        }
        package struct RateLimit: Sendable, Equatable {
            package var eventsPerSecond: Int?
            package var requestsPerSecond: Int?
            /// The most events sent at once after a pause; nil: one second's worth.
            package var burst: Int?
            package enum Per: String, Sendable, CaseIterable { case destination, user }
            package var per = Per.destination
        }
        package struct DeadLetters: Sendable, Equatable {
            package enum WhenFull: String, Sendable, CaseIterable { case hold, drop_oldest }
            /// The most bytes of dead letters.
            package var size: Int = 1 << 30
            package var time: Duration = days(30)
            package var whenFull = WhenFull.hold
        }
        package struct Replay: Sendable, Equatable {
            /// The most batches in flight; nil: half of the destination's limit.
            package var inFlight: Int?
            /// nil: as many as live delivery leaves capacity for.
            package var eventsPerSecond: Int?
        }
        package enum Order: String, Sendable, CaseIterable { case destination, user }
        /// The preset that the destination uses.
        package struct Preset: Sendable, Equatable {
            package var name: String
            /// The name of the service in an event's `integrations`.
            package var title: String
        }
        package var name: String
        package var preset: Preset?
        package var kind: Kind
        package var start: Start = .now
        package var batch: Batch
        /// Limits on batches in flight: the lower bound at first, then as many as the service can handle.
        package var inFlight: ClosedRange<Int>
        package var rateLimit: RateLimit?
        package var order: Order
        package var retry: Retry
        package var rules: Rules
        package var deadLetters = DeadLetters()
        package var replay = Replay()
        /// nil: the destination gets events without a mapping.
        package var mapping: FilledMapping?
        /// Set if the text around an event depends on the event too, or if there are several kinds of request: the
        /// mapped event and its envelope. The first output whose condition matches the event applies, and every
        /// additional one.
        package var outputs: [Output] = []
        /// The most bytes of an event after its mapping.
        package var maximumEventSize: Int = 1 << 20

        package var filter: Filter { rules.filter }
        package var transforms: [Transform] { rules.transforms }
    }

    package struct Output: Sendable, Equatable {
        package var condition: Rules.Condition
        /// Sent for each event that matches, in addition to the first other output that does.
        package var isAdditional = false
        package var mapping: FilledMapping
        /// The user gave no mapping: the event is left as it is.
        package var isWhole = false
        /// The kind of request, the values for its URL and headers, and the text around the events.
        package var envelope: FilledMapping
    }

    /// A mapping and the secrets that it names.
    package struct FilledMapping: Sendable, Equatable {
        package var mapping: Routing.Mapping
        var secrets: [Secret]

        /// The value of one of the mapping's secrets, for the code that runs the mapping.
        package func secret(_ name: String) -> String { secrets.first { $0.name == name }?.value ?? "" }
        /// The values of all its secrets, to hide them where the mapping's result is shown.
        package var secretValues: [String] { secrets.flatMap { [$0.value, $0.plain] } }
    }

    package struct File: Sendable, Equatable {
        package enum Compression: Sendable, Equatable { case none, gzip, zstd }
        package enum Format: String, Sendable, CaseIterable { case ndjson, csv }
        package struct Path: Sendable, Equatable {
            package enum Piece: Sendable, Equatable {
                /// Text; its strftime(3) conversions are filled in from the receive time.
                case text(String)
                /// The value of this field of the output.
                case value(FieldPath)
            }
            /// As written, but absolute.
            package var text = ""
            package var pieces: [Piece] = []
        }
        /// How many old files to keep; nil: no limit of that kind.
        package struct Keep: Sendable, Equatable {
            package var files: Int?
            package var time: Duration?
            package var size: Int?
        }
        package var path: Path
        package var compression: Compression
        /// The columns of a CSV file, in order; nil: the file holds lines of JSON.
        package var columns: [String]?
        package var rotateSize: Int?
        package var rotateEvery: Duration?
        /// IANA name; nil: UTC.
        package var timezone: String?
        /// nil: at the journal's cursor interval.
        package var sync: Journal.Sync?
        package var keep = Keep()
        package var openFiles = 128
        package var newFiles = 10_000
    }

    package struct Plugin: Sendable, Equatable {
        /// As written. Found as NAME.so or libNAME.so below the plugin directories.
        package var plugin: String
        /// For display: JSON text with secrets by name.
        package var settingsText: ConcealedText
        /// A JSON object as text, with secrets filled in.
        package var settings: String { settingsText.revealed }
        /// The absolute directory of the file that holds the settings.
        package var directory = "/"
        /// Whether the plugin runs in a separate process.
        package enum Isolation: String, Sendable, CaseIterable { case process, none }
        package var isolation = Isolation.process
        /// What the plugin's process may use.
        package struct Limits: Sendable, Equatable {
            /// Bytes of private memory.
            package var memory = 512 << 20
            /// Processors, on average; nil: no limit.
            package var processors: Double?
            package var openFiles = 1024
        }
        package var limits = Limits()
        /// The longest time that a batch may take. After it, the batch's events count as unsettled.
        package var deadline: Duration = .seconds(30)
    }
}
