// DaemonConfiguration: turns YAML text into values that are known to be valid.
//
// Invariants
// - All errors are found and reported at once: no error hides another. A configuration with errors yields no values.
// - A secret's value is never in the YAML, and never in a diagnostic, a description or a dump of a value from this
//   room. Only code that asks for it by name (`value`, `settings`, …) gets it.
// - The size of the input and the number of files are bounded. No input traps.
//
// This room reads files (the configuration's and the secrets') and changes nothing. It never opens a socket, loads a
// plugin or uses the network, so `penstock check` can run anywhere.

// Users of this room show its diagnostics, so the room that declares them is re-exported.
@_exported import ConfigurationSyntax
import Events
import Platform
import Routing

/// A valid configuration: defaults are filled in, filters compiled, and relative paths made absolute. Applying it may
/// still fail, for example when a socket cannot be opened.
package struct Configuration: Sendable {
    package var sources: [Source]
    package var journal: Journal
    /// The tracking plan that events are checked against before they are stored.
    package var plan: Plan?
    /// Runs for every event before routes are matched.
    package var pipeline: [Rules.Step] = []
    package var routes: [Route]
    package var routing = RoutingPool()
    package var destinations: [Destination]
    package var control: Control
    package var plugins: Plugins

    package struct Source: Sendable, Equatable {
        package var name: String
        /// Absolute; at most 107 bytes (unix(7)). Empty for a plugin, and for a source that has only `http`.
        package var socket: String
        /// A datagram socket beside it: absolute, at most 107 bytes.
        package var datagram: String?
        /// Events with a `messageId` that the source has stored before are not stored again.
        package var dedupe: Deduplication?
        /// Brings the events in; nil: applications connect to the socket or to `http`. Keys that concern connections
        /// have no effect for a plugin.
        package var plugin: Plugin?
        /// nil: no TCP listener. It has at least one write key.
        package var http: HTTPListener?
        /// The keys of which an HTTP client must send one. Empty: clients of the socket need none.
        package var writeKeys: [Secret] = []
        package var allowedOrigins: AllowedOrigins?
        package var httpLimits = HTTPRequestLimits()
        /// Permission bits of the socket file.
        package var mode: UInt32 = 0o660
        package var group: String?
        /// Only these may connect to the socket; nil: everybody who can open it.
        package var allow: Peers?
        /// Bytes.
        package var maximumEventSize: Int = 32 << 10
        package var maximumDepth: Int = 64
        package var maximumConnections: Int = 10_000
        /// The most bytes of acknowledgements and refusals that a client has not read yet. Above it, nothing more is
        /// read from that client.
        package var maximumUnreadAnswers: Int = 256 << 10
        /// The most connections that one user may have at once. No user is exempt.
        package var maximumConnectionsPerUser: Int = 1_000
        /// A client is disconnected after this many refused lines in a row.
        package var maximumConsecutiveRefusals: Int = 1_000
        /// The most bytes buffered for all clients of the source: unfinished lines, unread responses, and lines that
        /// wait for their turn.
        package var maximumBuffered: Int = 24 << 20
        /// The longest time that a client may take to finish a line.
        package var lineTimeout: Duration = .seconds(60)
        /// The longest time that a client may be idle; nil: forever.
        package var idleTimeout: Duration?
        package var rateLimit = RateLimit()
        /// Whether connections to the stream socket outlive the daemon.
        package var keepsConnections: Bool = true
        /// What happens to a number in the place of an id.
        package var ids: IDs = .strict
        /// What happens to half of a surrogate pair in a string.
        package var invalidText: InvalidText = .refuse
        /// The most bytes that a plugin has offered and that are not stored yet.
        package var window: Int = 4 << 20
        /// How old events that the plugin brings in may be while the daemon is ready.
        package var readyLag: Duration = .seconds(300)
        /// Runs for every event before it is stored.
        package var scrub: [Rules.Step] = []

        package enum IDs: String, Sendable, CaseIterable {
            /// The event is refused.
            case strict
            /// The number becomes a string.
            case lenient
        }
        package enum InvalidText: String, Sendable, CaseIterable {
            /// The event is refused.
            case refuse
            /// It becomes U+FFFD.
            case replace
        }

        /// A nameless source with the default limits.
        package static let usual = Source(name: "", socket: "")
    }

    /// A limit on the rate of a source's events.
    package struct RateLimit: Sendable, Equatable {
        package enum Per: String, Sendable, CaseIterable { case uid, connection, write_key }
        package var per = Per.uid
        /// nil: unlimited.
        package var eventsPerSecond: Int?
        /// The most events at once after a pause; nil: one second's worth.
        package var burst: Int?
    }

    package struct Deduplication: Sendable, Equatable {
        /// How long an id is remembered.
        package var window: Duration = .seconds(86_400)
        /// Bytes.
        package var maximumMemory: Int = 64 << 20

        package init() {}
    }

    package struct Peers: Sendable, Equatable {
        package var users: [String] = []
        package var groups: [String] = []
    }

    package struct Journal: Sendable, Equatable {
        package enum Sync: Sendable, Equatable {
            case always
            case interval(Duration)
            case never
        }
        package enum WhenFull: String, Sendable, CaseIterable {
            case block, drop_oldest, reject
        }
        package static let defaultDirectory = "/var/lib/penstock/journal"
        package var directory: String = defaultDirectory
        package var sync: Sync = .always
        package var retainTime: Duration = .seconds(7 * 86_400)
        package var retainSize: Int = 20 << 30
        package var whenFull: WhenFull = .block
        /// Size of a segment file in bytes.
        package var segmentSize: Int = 64 << 20
        /// Bytes for all commits: those that wait, the one that is being written, and the latest ones.
        package var memory: Int = 16 << 20
        package var givenQueue: Int?
        /// The most bytes of one commit.
        package var queue: Int { givenQueue ?? min(max(memory / 8, 256 << 10), 2 << 20) }
        /// How long events that find all threads asleep wait for others.
        package var commitDelay: Duration = .microseconds(75)
        /// How long a commit waits at most for destinations that keep up.
        package var readerWait: Duration = .milliseconds(5)
        package var cursorInterval: Duration = .seconds(1)
    }

    package struct Route: Sendable, Equatable {
        package var name: String
        package var rules: Rules
        /// Names of destinations that exist.
        package var to: [String]

        package var filter: Filter { rules.filter }
        package var transforms: [Transform] { rules.transforms }
    }

    package struct RoutingPool: Sendable, Equatable {
        /// Threads that route events for HTTP destinations and build their requests; nil: the daemon chooses the
        /// number.
        package var threads: Int?
    }

    package struct Control: Sendable, Equatable {
        package var socket: String = "/run/penstock/control.sock"
        /// Where metrics are read over HTTP; nil: nowhere.
        package var metrics: SocketAddress?
        /// Whether other machines may read the metrics.
        package var metricsInsecure = false
        /// nil: there is no page.
        package var page: PageListener?
    }

    package struct Plugins: Sendable, Equatable {
        package var directories: [String]
    }
}
