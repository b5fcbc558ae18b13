#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DaemonProvider {
    /// Where the daemon is, and how much is kept while it is not there.
    public struct Options: Sendable {
        /// The socket that the daemon listens on. If not given, the environment's `PENSTOCK_SOCKET`, or
        /// else `/run/penstock/events.sock`.
        public var socket: String

        /// The directory for events that the daemon does not take; nil to keep them in memory alone.
        /// It is made, for this user alone, when there is something to put into it. Processes may share it, each
        /// sends its own, and what a process of the same socket has left behind when it ended. See
        /// ``defaultSpool(environment:)`` for what it is if not given.
        public var spool: String?

        /// How many bytes the spool may hold: what processes before this one have left counts, what
        /// others still write does not. 256 MiB, if not given.
        public var spoolBytes: Int = 256 << 20

        /// How large a file of the spool may become; it is removed when all of it is acknowledged.
        public var spoolSegmentBytes: Int = 8 << 20

        /// How many events may be in memory: those not sent, and those sent and not acknowledged. What
        /// is recorded beyond that is dropped, counted and reported. From a quarter of it on they go to the
        /// spool although the daemon is there: it is slower than the application.
        public var queueEvents: Int = 200_000

        /// How many bytes may be in memory; as ``queueEvents``.
        public var queueBytes: Int = 64 << 20

        /// How long to wait before the next attempt to connect: any time between the lower bound and twice
        /// as much for each failure in a row, up to the upper one.
        public var reconnectDelay: ClosedRange<Duration> = .milliseconds(50) ... .seconds(2)

        /// How long events are waited for after some were sent, so that many go at once and recording need not
        /// wake a thread for each.
        public var lingerTime: Duration = .milliseconds(1)

        /// How often the spool is looked through for what processes have left that have ended since.
        public var adoptionInterval: Duration = .seconds(15)

        /// How long a provider that was let go of goes on sending what it has. The rest is spooled.
        public var closingTimeout: Duration = .seconds(2)

        /// - Parameter environment: the process' own, if not given.
        public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
            socket = environment["PENSTOCK_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } ?? "/run/penstock/events.sock"
            spool = Self.defaultSpool(environment: environment)
        }

        /// `PENSTOCK_SPOOL`; in a systemd unit with `StateDirectory=` its `penstock-spool`; else
        /// `penstock/spool` below `XDG_STATE_HOME` or `~/.local/state` (on Apple's platforms
        /// `~/Library/Application Support`), and in it a directory by the program's name. Nil if there is
        /// none of these.
        public static func defaultSpool(environment: [String: String]) -> String? {
            func directory(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
            if let named = directory("PENSTOCK_SPOOL") { return named }
            // A unit may have several, separated by colons.
            if let state = directory("STATE_DIRECTORY")?.split(separator: ":").first { return state + "/penstock-spool" }
            let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "application"
            if let state = directory("XDG_STATE_HOME") { return "\(state)/penstock/spool/\(program)" }
            #if canImport(Darwin)
                return directory("HOME").map { "\($0)/Library/Application Support/penstock/spool/\(program)" }
            #else
                return directory("HOME").map { "\($0)/.local/state/penstock/spool/\(program)" }
            #endif
        }

        /// Events for one socket must not be sent to another one.
        var spoolOfSocket: String? { spool.map { "\($0)/\(socket.split(separator: "/").joined(separator: "-"))" } }
    }
}
