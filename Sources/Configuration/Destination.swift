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
            /// Events that may go at once after a pause; nil: those of a second.
            package var burst: Int?
            package enum Per: String, Sendable, CaseIterable { case destination, user }
            package var per = Per.destination
        }
        package struct DeadLetters: Sendable, Equatable {
            package enum WhenFull: String, Sendable, CaseIterable { case hold, drop_oldest }
            /// Bytes that they may take.
            package var size: Int = 1 << 30
            package var time: Duration = days(30)
            package var whenFull = WhenFull.hold
        }
        package struct Replay: Sendable, Equatable {
            /// Batches under way at once; nil: half of what the destination may have.
            package var inFlight: Int?
            /// nil: as many as live delivery leaves room for.
            package var eventsPerSecond: Int?
        }
        package enum Order: String, Sendable, CaseIterable { case destination, user }
        /// The preset that it is made of.
        package struct Preset: Sendable, Equatable {
            package var name: String
            /// What `integrations` of an event may call it.
            package var title: String
        }
        package var name: String
        package var preset: Preset?
        package var kind: Kind
        package var start: Start = .now
        package var batch: Batch
        /// Batches under way at once: as many as the lower bound at first, then as many as it bears.
        package var inFlight: ClosedRange<Int>
        package var rateLimit: RateLimit?
        package var order: Order
        package var retry: Retry
        package var rules: Rules
        package var deadLetters = DeadLetters()
        package var replay = Replay()
        /// nil: it gets the events as they are.
        package var mapping: FilledMapping?
        /// Where what is sent around an event depends on it as well, or several kinds of request are sent: what it
        /// gets in place of the event, and what goes with it. The first that takes the event counts.
        package var outputs: [Output] = []
        /// Bytes that an event may have after its mapping.
        package var maximumEventSize: Int = 1 << 20

        package var filter: Filter { rules.filter }
        package var transforms: [Transform] { rules.transforms }
    }

    package struct Output: Sendable, Equatable {
        package var condition: Rules.Condition
        package var mapping: FilledMapping
        /// The mapping is none of the user's: it leaves the event as it is.
        package var isWhole = false
        /// Which request, the values for its URL and headers, and what goes around the events.
        package var envelope: FilledMapping
    }

    /// A mapping and the secrets that it names.
    package struct FilledMapping: Sendable, Equatable {
        package var mapping: Routing.Mapping
        var secrets: [Secret]

        /// The value of one of the mapping's secrets: for whoever runs it.
        package func secret(_ name: String) -> String { secrets.first { $0.name == name }?.value ?? "" }
    }

    package struct File: Sendable, Equatable {
        package enum Compression: Sendable, Equatable { case none, gzip, zstd }
        package enum Format: String, Sendable, CaseIterable { case ndjson, csv }
        package struct Path: Sendable, Equatable {
            package enum Piece: Sendable, Equatable {
                /// strftime(3) conversions in it are filled in from the receive time.
                case text(String)
                /// The value of this field of what is written.
                case value(FieldPath)
            }
            /// As written, but absolute.
            package var text = ""
            package var pieces: [Piece] = []
        }
        /// Which old files stay; nil: however many, old or large.
        package struct Keep: Sendable, Equatable {
            package var files: Int?
            package var time: Duration?
            package var size: Int?
        }
        package var path: Path
        package var compression: Compression
        /// Of CSV, in order; nil: lines of JSON.
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
        /// As written; found as NAME.so or libNAME.so below the plugin directories.
        package var plugin: String
        /// For showing: JSON text with secrets by their names.
        package var settingsText: ConcealedText
        /// JSON text of an object, secrets filled in.
        package var settings: String { settingsText.revealed }
        /// Absolute; of the file that the settings stand in.
        package var directory = "/"
        /// How long a batch may take before its events count as unsettled.
        package var deadline: Duration = .seconds(30)
    }
}
