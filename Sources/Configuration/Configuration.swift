import Events
import Routing

/// A configuration that was found valid: values, defaults filled in, filters compiled, relative
/// paths made absolute. What it asks for may still fail when it is applied (a socket that cannot
/// be opened); what it says cannot be misunderstood any more.
package struct Configuration: Sendable {
    package var sources: [Source]
    package var journal: Journal
    package var routes: [Route]
    package var destinations: [Destination]
    package var control: Control
    package var plugins: Plugins

    package struct Source: Sendable, Equatable {
        package var name: String
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
        package var directory: String = "/var/lib/penstock/journal"
        package var sync: Sync = .always
        package var retainTime: Duration = .seconds(7 * 86_400)
        package var retainSize: Int = 20 << 30
        package var whenFull: WhenFull = .block
        /// Bytes a segment file has.
        package var segmentSize: Int = 64 << 20
        /// Bytes that may wait for the next group commit.
        package var queue: Int = 8 << 20
        package var cursorInterval: Duration = .seconds(1)
    }

    package struct Route: Sendable {
        package var name: String
        package var filter: Filter
        package var transforms: [Transform]
        package var to: [String]
    }

    package struct Destination: Sendable {
        package enum Kind: Sendable {
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
        }
        package var name: String
        package var kind: Kind
        package var start: Start = .now
        package var batch: Batch
        package var inFlight: Int
        package var retry: Retry
        package var filter: Filter
        package var transforms: [Transform]
        /// Bytes that its dead letters may take.
        package var deadLetters: Int = 1 << 30
    }

    package struct File: Sendable, Equatable {
        package enum Compression: Sendable, Equatable { case none, gzip, zstd }
        /// Absolute; strftime(3) conversions in it are filled in from the receive time.
        package var path: String
        package var compression: Compression
        package var rotateSize: Int?
        package var rotateEvery: Duration?
        /// IANA name; nil: UTC.
        package var timezone: String?
    }

    package struct HTTP: Sendable, Equatable {
        package enum Format: String, Sendable, CaseIterable { case ndjson, array, single }
        package enum Method: String, Sendable, CaseIterable { case POST, PUT, PATCH }
        package var url: String
        package var method: Method = .POST
        package var format: Format = .array
        /// In the order given. Secrets are filled in.
        package var headers: [Header] = []
        package var gzip: Bool = false
        package var connectTimeout: Duration = .seconds(10)
        package var timeout: Duration = .seconds(30)

        package struct Header: Sendable, Equatable {
            package var name: String
            package var value: String
        }
    }

    package struct Plugin: Sendable, Equatable {
        /// As written; found as NAME.so or libNAME.so below the plugin directories.
        package var plugin: String
        /// JSON text of an object, secrets filled in.
        package var settings: String
        /// How long a batch may take before its events count as unsettled.
        package var deadline: Duration = .seconds(30)
    }

    package struct Control: Sendable, Equatable {
        package var socket: String = "/run/penstock/control.sock"
    }

    package struct Plugins: Sendable, Equatable {
        package var directories: [String]
    }
}
