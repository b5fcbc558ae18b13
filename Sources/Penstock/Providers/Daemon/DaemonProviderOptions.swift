#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DaemonProvider {
    /// The daemon's socket, and the limits of memory and spool.
    public struct Options: Sendable {
        /// The path of the socket on which the daemon listens. The default is the environment variable
        /// `PENSTOCK_SOCKET`, or else `/run/penstock/events.sock`.
        public var socket: String

        /// The directory for events that the daemon does not take; nil to keep events in memory only.
        ///
        /// It is created when it is first needed, and is accessible to this user only. Several processes may share it.
        /// Each sends its own events, and those left by processes that used the same socket and have ended. For the
        /// default, see ``defaultSpool(environment:)``.
        public var spool: String?

        /// The maximum size of the spool in bytes. Events left by earlier processes count; events of other running
        /// processes do not. The default is 256 MiB.
        public var spoolBytes: Int = 256 << 20

        /// The maximum size of a file in the spool in bytes. A file is deleted when all of it is acknowledged.
        public var spoolSegmentBytes: Int = 8 << 20

        /// The maximum number of events in memory: those not sent yet, and those sent and not acknowledged.
        ///
        /// Events beyond this limit are dropped, counted and reported. If more than a quarter of this number is in
        /// memory, the daemon is slower than the application, and events are spooled even though the daemon is
        /// reachable.
        public var queueEvents: Int = 200_000

        /// The maximum size of the events in memory in bytes. It is applied like ``queueEvents``.
        public var queueBytes: Int = 64 << 20

        /// The range of delays before the next attempt to connect, at least 1 ms. The delay is random between the lower
        /// bound and a limit that doubles with each consecutive failure, up to the upper bound.
        public var reconnectDelay: ClosedRange<Duration> = .milliseconds(50) ... .seconds(2)

        /// How long the provider's thread waits for more events after it has sent some. Meanwhile recording need not
        /// wake the thread, and several events are sent together.
        public var lingerTime: Duration = .milliseconds(1)

        /// How often the provider looks in the spool for events of processes that have ended.
        public var adoptionInterval: Duration = .seconds(15)

        /// How long a released provider keeps sending its remaining events. After that they are spooled.
        public var closingTimeout: Duration = .seconds(2)

        /// How long the end of the process may be delayed by events that the daemon has not acknowledged. After that
        /// they are spooled, which takes about a millisecond, and at most 2 s if the disk is slow. With 0 they are
        /// spooled at once.
        ///
        /// It applies when the process ends by exit(3) or by returning from `main`.
        public var exitTimeout: Duration = .milliseconds(250)

        /// Creates options from the environment.
        ///
        /// - Parameter environment: The environment variables. The default is the environment of this process.
        public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
            socket = environment["PENSTOCK_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } ?? "/run/penstock/events.sock"
            spool = Self.defaultSpool(environment: environment)
        }

        /// Returns the default directory of the spool.
        ///
        /// It is `PENSTOCK_SPOOL` if set; in a systemd unit with `StateDirectory=`, its subdirectory `penstock-spool`;
        /// otherwise a directory named after the program in `penstock/spool` below `XDG_STATE_HOME` or `~/.local/state`
        /// (`~/Library/Application Support` on Apple's platforms). It is nil if none of these is known.
        public static func defaultSpool(environment: [String: String]) -> String? {
            func directory(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
            if let named = directory("PENSTOCK_SPOOL") { return named }
            // A unit may have several state directories, separated by colons.
            if let state = directory("STATE_DIRECTORY")?.split(separator: ":").first {
                return state + "/penstock-spool"
            }
            let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "application"
            if let state = directory("XDG_STATE_HOME") { return "\(state)/penstock/spool/\(program)" }
            #if canImport(Darwin)
                return directory("HOME").map { "\($0)/Library/Application Support/penstock/spool/\(program)" }
            #else
                return directory("HOME").map { "\($0)/.local/state/penstock/spool/\(program)" }
            #endif
        }

        /// The spool of this socket. Events for one socket must not be sent to another one.
        var spoolOfSocket: String? { spool.map { "\($0)/\(socket.split(separator: "/").joined(separator: "-"))" } }
    }
}
