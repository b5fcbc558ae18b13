/// The state of the daemon at one moment, as `penstock status --json` prints it. The JSON names are a contract with
/// scripts: new names may be added, existing ones never change.
package struct StatusReport: Codable, Sendable, Equatable {
    package enum Health: String, Codable, Sendable { case healthy, degraded }

    package var health: Health
    /// Why the daemon is degraded: one clause for each reason, most urgent first, ready for display. Empty if it is
    /// healthy.
    package var reasons: [String]
    package var version: String
    package var uptimeSeconds: Double
    /// Events accepted by all sources, averaged over the last seconds.
    package var eventsPerSecond: Double
    package var sources: [String: Source]
    package var journal: Journal
    package var destinations: [String: Destination]
    /// Oldest first.
    package var recentRefusals: [Refusal]
    /// The last refused reload, until a configuration is applied or the files match the running configuration again.
    package var refusedReload: RefusedReload?
    /// The URL of the metrics; nil: there is no listener for them.
    package var metrics: String?
    /// The name of the machine.
    package var host: String?
    /// SHA-256 of the running configuration's files, in hexadecimal digits: hosts with the same files have the same.
    package var configurationHash: String?
    /// nil: it is not known yet.
    package var load: Load?

    /// `health` is derived from `reasons`.
    package init(
        reasons: [String], version: String, uptimeSeconds: Double, eventsPerSecond: Double, sources: [String: Source],
        journal: Journal, destinations: [String: Destination], recentRefusals: [Refusal],
        refusedReload: RefusedReload? = nil, metrics: String? = nil, host: String? = nil,
        configurationHash: String? = nil, load: Load? = nil
    ) {
        self.load = load
        self.host = host
        self.configurationHash = configurationHash
        self.metrics = metrics
        self.reasons = reasons
        health = reasons.isEmpty ? .healthy : .degraded
        self.version = version
        self.uptimeSeconds = uptimeSeconds
        self.eventsPerSecond = eventsPerSecond
        self.sources = sources
        self.journal = journal
        self.destinations = destinations
        self.recentRefusals = recentRefusals
        self.refusedReload = refusedReload
    }

    package struct Source: Codable, Sendable, Equatable {
        package var accepted: UInt64
        package var refused: UInt64
        /// Events that were acknowledged but not stored, because the source has stored the same `messageId` before.
        package var duplicates: UInt64 = 0
        /// The memory of message ids; nil: `dedupe` is off.
        package var dedupe: MessageIDs?
        /// Keyed by the reason's name. Contains only reasons that occurred.
        package var refusedByReason: [String: UInt64]
        /// Events accepted although they violate the tracking plan. Contains only reasons that occurred.
        package var violationsByReason: [String: UInt64]
        /// Events accepted although something about them is unusual, or was repaired: `empty_ids`, `numeric_ids`,
        /// `replaced_text`, `context_traits`. Contains only what occurred.
        package var normalised: [String: UInt64]
        /// Connections open now.
        package var connections: Int
        /// How often each limit took effect on a client, keyed by its configuration key. Contains only limits that took
        /// effect.
        package var limits: [String: UInt64]
        /// The paths and addresses on which it listens.
        package var listens: [String]
        /// Under socket activation: who may connect, and where that is configured.
        package var socketUnit: String?
        // A source plugin also has these.
        package var state: PluginState?
        /// Why it does not offer events, or did not before.
        package var lastError: String?
        /// How often its process was started again.
        package var restarts: UInt64?
        /// The number of lanes (partitions, files) from which it reads.
        package var openLanes: Int?
        /// Some of them by name, with the position up to which the journal has their events; nil: none since the plugin
        /// was started.
        package var lanes: [String: String?]?
        /// How old the events are that it brings in, since another host received them; nil: it does not tell when.
        package var lagSeconds: Double?
        /// The lag up to which the daemon is ready.
        package var readyLagSeconds: Double?
        package var plugin: Plugin?

        package enum PluginState: String, Codable, Sendable, CaseIterable {
            case starting, up
            /// It tries again by itself: its process ended, or its broker cannot be reached.
            case retrying
            /// The journal takes none of its events now.
            case held
            /// It cannot be started.
            case failing
            case stopped
        }

        package init(
            accepted: UInt64, refused: UInt64, refusedByReason: [String: UInt64],
            violationsByReason: [String: UInt64] = [:], normalised: [String: UInt64] = [:],
            connections: Int, limits: [String: UInt64] = [:], listens: [String], socketUnit: String? = nil
        ) {
            self.limits = limits
            self.socketUnit = socketUnit
            self.accepted = accepted
            self.refused = refused
            self.refusedByReason = refusedByReason
            self.violationsByReason = violationsByReason
            self.normalised = normalised
            self.connections = connections
            self.listens = listens
        }

        enum CodingKeys: String, CodingKey {
            case accepted, refused, duplicates, dedupe, normalised, connections, limits, listens, state, restarts
            case lanes, plugin
            case lastError = "last_error"
            case openLanes = "open_lanes"
            case lagSeconds = "lag_seconds"
            case readyLagSeconds = "ready_lag_seconds"
            case socketUnit = "socket_unit"
            case refusedByReason = "refused_by_reason"
            case violationsByReason = "violations_by_reason"
        }
    }

    package struct Journal: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable, CaseIterable {
            case ok
            /// The journal has no room. `journal.when_full` decides what happens to new events.
            case full
            /// Writing fails: new events are refused; durable events are still delivered.
            case failed
        }

        package var state: State
        /// The position of the oldest event in the journal, and the position of the next event to be appended.
        package var first: UInt64
        package var next: UInt64
        package var bytes: UInt64
        package var segments: Int
        /// Positions known to be lost because of damage.
        package var damaged: UInt64
        /// The current error, if any.
        package var lastError: String?
        /// The limits of `journal.retain`, and the value of `journal.when_full`.
        package var retainBytes: UInt64
        package var retainSeconds: Double
        package var whenFull: String
        /// Segments that were removed earlier than `retain` requires because the filesystem was full, since the start.
        package var removedForSpace: UInt64
        /// The syncs of segments; nil: there was none in the last minute.
        package var sync: Latency?
        /// From the receipt of events to their acknowledgement; nil: there was none in the last minute.
        package var commit: Latency?

        package init(
            state: State, first: UInt64, next: UInt64, bytes: UInt64, segments: Int, damaged: UInt64 = 0,
            lastError: String? = nil, retainBytes: UInt64 = 0, retainSeconds: Double = 0, whenFull: String = "block",
            removedForSpace: UInt64 = 0
        ) {
            self.retainBytes = retainBytes
            self.retainSeconds = retainSeconds
            self.whenFull = whenFull
            self.removedForSpace = removedForSpace
            self.state = state
            self.first = first
            self.next = next
            self.bytes = bytes
            self.segments = segments
            self.damaged = damaged
            self.lastError = lastError
        }

        enum CodingKeys: String, CodingKey {
            case state, first, next, bytes, segments, damaged
            case lastError = "last_error"
            case retainBytes = "retain_bytes"
            case retainSeconds = "retain_seconds"
            case whenFull = "when_full"
            case removedForSpace = "removed_for_space"
            case sync = "sync_seconds"
            case commit = "commit_seconds"
        }
    }

    /// A destination's plugin.
    package struct Plugin: Codable, Sendable, Equatable {
        package var name: String
        package var version: String
        /// The build id of its file, in hexadecimal.
        package var build: String?
        /// The plugin's own, since the daemon's start or the last reload that changed the destination.
        package var counters: [String: UInt64]
        package var gauges: [String: Double]

        package init(
            name: String, version: String, build: String?, counters: [String: UInt64], gauges: [String: Double]
        ) {
            self.name = name
            self.version = version
            self.build = build
            self.counters = counters
            self.gauges = gauges
        }
    }

    package struct Destination: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable, CaseIterable {
            case up
            /// A batch failed and will be retried.
            case retrying
            /// The service rejects the daemon's credential, not the events. Retried slowly.
            case held
            /// The destination cannot be opened.
            case failing
            case stopped
        }

        package var state: State
        /// When it entered this state (RFC 3339), and how many seconds ago.
        package var since: String?
        package var stateSeconds: Double?
        /// All events below this journal position are settled.
        package var position: UInt64
        package var delivered: UInt64
        package var filtered: UInt64
        /// Keyed by `no_route`, `integrations`, `where`, or the name of the transform that dropped the events.
        package var filteredByReason: [String: UInt64]
        package var deadLettered: UInt64
        /// Positions lost to `when_full: drop_oldest` since the start.
        package var dropped: UInt64
        package var retries: UInt64
        /// Delivered events, averaged over the last seconds.
        package var eventsPerSecond: Double
        package var lagEvents: UInt64
        /// The age of the oldest event that is not settled; 0 if all are.
        package var lagSeconds: Double
        /// The most recent error, even after recovery.
        package var lastError: String?
        /// RFC 3339.
        package var lastErrorTime: String?
        /// The beginning of the service's answer to that attempt: printable, without secrets.
        package var lastAnswer: String?
        /// Seconds until the next attempt; nil unless it waits for one.
        package var nextAttemptSeconds: Double?
        /// Events delivered by replays. Not included in `delivered`.
        package var replayed: UInt64 = 0
        package var replay: Replay?
        /// Events that were changed to fit the limits of the service; nil: no limit changes events.
        package var mended: UInt64?
        package var deadLetters: DeadLetters?
        /// nil: it is no plugin, or the plugin has not been loaded.
        package var plugin: Plugin?
        /// From the receipt of events to their delivery; nil: none was delivered in the last minute.
        package var latency: Latency?

        package init(
            state: State, position: UInt64, delivered: UInt64, filtered: UInt64, deadLettered: UInt64, retries: UInt64,
            eventsPerSecond: Double, lagEvents: UInt64, lagSeconds: Double, lastError: String? = nil,
            nextAttemptSeconds: Double? = nil, since: String? = nil, stateSeconds: Double? = nil,
            lastErrorTime: String? = nil, lastAnswer: String? = nil, filteredByReason: [String: UInt64] = [:],
            dropped: UInt64 = 0
        ) {
            self.dropped = dropped
            self.state = state
            self.since = since
            self.stateSeconds = stateSeconds
            self.lastErrorTime = lastErrorTime
            self.lastAnswer = lastAnswer
            self.position = position
            self.delivered = delivered
            self.filtered = filtered
            self.filteredByReason = filteredByReason
            self.deadLettered = deadLettered
            self.retries = retries
            self.eventsPerSecond = eventsPerSecond
            self.lagEvents = lagEvents
            self.lagSeconds = lagSeconds
            self.lastError = lastError
            self.nextAttemptSeconds = nextAttemptSeconds
        }

        enum CodingKeys: String, CodingKey {
            case state, since, position, delivered, filtered, dropped, retries, replayed, replay, mended, plugin
            case latency = "latency_seconds"
            case deadLetters = "dead_letters"
            case filteredByReason = "filtered_by_reason"
            case stateSeconds = "state_seconds"
            case deadLettered = "dead_lettered"
            case eventsPerSecond = "events_per_second"
            case lagEvents = "lag_events"
            case lagSeconds = "lag_seconds"
            case lastError = "last_error"
            case lastErrorTime = "last_error_time"
            case lastAnswer = "last_answer"
            case nextAttemptSeconds = "next_attempt_seconds"
        }
    }

    package struct RefusedReload: Codable, Sendable, Equatable {
        /// RFC 3339.
        package var time: String
        /// At least one. Each is formatted for a person: place, line, caret and hint.
        package var errors: [String]

        package init(time: String, errors: [String]) {
            self.time = time
            self.errors = errors
        }

        /// `FILE:LINE:COLUMN: error: MESSAGE`, without the line, the caret and the hint.
        package var firstError: String { String(errors.first?.split(separator: "\n").first ?? "") }
    }

    package struct Refusal: Codable, Sendable, Equatable {
        /// RFC 3339.
        package var time: String
        package var source: String
        package var reason: String
        package var detail: String
        package var messageID: String?

        package init(time: String, source: String, reason: String, detail: String, messageID: String? = nil) {
            self.time = time
            self.source = source
            self.reason = reason
            self.detail = detail
            self.messageID = messageID
        }

        enum CodingKeys: String, CodingKey {
            case time, source, reason, detail
            case messageID = "messageId"
        }
    }

    enum CodingKeys: String, CodingKey {
        case health, reasons, version, sources, journal, destinations, metrics, host, load
        case configurationHash = "configuration_hash"
        case uptimeSeconds = "uptime_seconds"
        case eventsPerSecond = "events_per_second"
        case recentRefusals = "recent_refusals"
        case refusedReload = "refused_reload"
    }
}
