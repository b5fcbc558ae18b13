// Configuration: YAML text to values that are known to be valid.
//
// - Everything that is wrong is found and told at once: no error hides another. What has errors gives
//   no configuration at all.
// - A secret is never in the YAML, and never in a diagnostic, a description or a dump of a value
//   from here: only whoever asks for `value` or `settings` by name gets it.
// - Input is bounded, the number of files too. No input traps.
//
// It reads files (the configuration's and the secrets') and changes nothing. It never opens a
// socket, never loads a plugin, never asks the network: `penstock check` may run anywhere.

// Whoever reads a configuration shows what is wrong with it, so the language's room comes along.
@_exported import ConfigurationLanguage
import Events
import Routing

/// A configuration that was found valid: values, defaults filled in, filters compiled, relative
/// paths made absolute. What it asks for may still fail when it is applied (a socket that cannot
/// be opened); what it says cannot be misunderstood any more.
package struct Configuration: Sendable {
    package var sources: [Source]
    package var journal: Journal
    /// What events are held to before they are stored.
    package var plan: Plan?
    /// For every event, before its routes are looked for.
    package var pipeline: [Rules.Step] = []
    package var routes: [Route]
    package var routing = RoutingPool()
    package var destinations: [Destination]
    package var control: Control
    package var plugins: Plugins

    package struct Source: Sendable, Equatable {
        package var name: String
        /// Absolute; at most 107 bytes (unix(7)).
        package var socket: String
        /// Permission bits of the socket's file.
        package var mode: UInt32 = 0o660
        package var group: String?
        /// Nobody but these may connect; nil: whoever can open the socket.
        package var allow: Peers?
        /// Bytes.
        package var maximumEventSize: Int = 32 << 10
        package var maximumDepth: Int = 64
        package var maximumConnections: Int = 10_000
        /// Acknowledgements and refusals that a client has not read yet, in bytes; above it, no
        /// more is read from that client.
        package var maximumUnreadAnswers: Int = 256 << 10
        /// Connections that one user may have at once; no user is exempt.
        package var maximumConnectionsPerUser: Int = 1_000
        /// Refused lines in a row after which a client is let go.
        package var maximumConsecutiveRefusals: Int = 1_000
        /// Bytes held for all clients of the source: unfinished lines, unread answers, what waits for its turn.
        package var maximumBuffered: Int = 64 << 20
        /// How long a client may take to finish a line.
        package var lineTimeout: Duration = .seconds(60)
        /// How long a client may be silent; nil: for ever.
        package var idleTimeout: Duration?
        /// For every event, before it is stored.
        package var scrub: [Rules.Step] = []

        /// A nameless one with the limits that a source has if nothing is said.
        package static let usual = Source(name: "", socket: "")
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
        /// Bytes a segment file has.
        package var segmentSize: Int = 64 << 20
        /// Bytes that may wait for the next group commit.
        package var queue: Int = 2 << 20
        package var cursorInterval: Duration = .seconds(1)
    }

    package struct Route: Sendable, Equatable {
        package var name: String
        package var rules: Rules
        /// Names of destinations; each is one that exists.
        package var to: [String]

        package var filter: Filter { rules.filter }
        package var transforms: [Transform] { rules.transforms }
    }

    package struct RoutingPool: Sendable, Equatable {
        /// Threads that route events for HTTP destinations and build their requests; nil: as many as the daemon finds right.
        package var threads: Int?
    }

    package struct Control: Sendable, Equatable {
        package var socket: String = "/run/penstock/control.sock"
    }

    package struct Plugins: Sendable, Equatable {
        package var directories: [String]
    }
}
