import Telemetry

/// Every metric of the daemon. `Monitoring.md` has a table of them in this order, which a test compares with this list.
///
/// The names are a contract with dashboards and alert rules: new ones may be added, existing ones never change.
enum MetricCatalogue {
    static let all = [daemon, process, sources, journal, destinations, replays, plugins].flatMap(\.self)

    // MARK: The daemon

    static let build = Metric("penstock_build_info", .gauge, labels: ["version"], "1, with the daemon's version")
    static let configuration = Metric(
        "penstock_configuration_info", .gauge, labels: ["host", "hash"],
        "1, with the machine's name and SHA-256 of the running configuration's files")
    static let uptime = Metric("penstock_uptime_seconds", .gauge, "Time since the daemon started")
    static let healthy = Metric(
        "penstock_healthy", .gauge, "1 if the daemon is healthy, 0 if it is degraded (penstock status tells why)")
    static let reasons = Metric(
        "penstock_degraded_reasons", .gauge, "Number of reasons why the daemon is degraded, 0 if it is healthy")
    static let refusedReload = Metric(
        "penstock_reload_refused", .gauge,
        "1 if the last reload was refused and the files still differ from the running configuration")
    static let stuckThreads = Metric("penstock_stuck_threads", .gauge, "Number of threads that make no progress")
    static let log = Metric(
        "penstock_log_events_total", .counter, labels: ["event"],
        "Events that the daemon logs, by their name, counted also where their lines are suppressed")
    static let ingest = Metric(
        "penstock_ingest_seconds", .histogram,
        "Time from the receipt of each event, once it is valid and queued, to its acknowledgement")

    private static let daemon = [
        build, configuration, uptime, healthy, reasons, refusedReload, stuckThreads, log, ingest,
    ]

    // MARK: The process

    static let processor = Metric(
        "process_cpu_seconds_total", .counter, "Processor time of the daemon, in user and in kernel mode")
    static let resident = Metric("process_resident_memory_bytes", .gauge, "Memory of the daemon in RAM")
    static let virtual = Metric("process_virtual_memory_bytes", .gauge, "Address space of the daemon")
    static let openFiles = Metric("process_open_fds", .gauge, "Number of open file descriptors")
    static let maximumOpenFiles = Metric("process_max_fds", .gauge, "Limit of open file descriptors")
    static let startTime = Metric(
        "process_start_time_seconds", .gauge, "When the daemon started, in seconds since 1970-01-01 UTC")

    private static let process = [processor, resident, virtual, openFiles, maximumOpenFiles, startTime]

    // MARK: Sources

    static let accepted = source("accepted_events_total", .counter, "Events accepted and stored")
    static let refused = source("refused_events_total", .counter, by: "reason", "Events refused, by the reason's name")
    static let duplicates = source(
        "duplicate_events_total", .counter, "Events acknowledged and not stored again")
    static let violations = source(
        "plan_violations_total", .counter, by: "reason", "Events accepted although they violate the tracking plan")
    static let normalised = source(
        "normalised_events_total", .counter, by: "kind", "Events accepted although unusual, or after a repair")
    static let connections = source("connections", .gauge, "Connections open now")
    static let limits = source(
        "limits_total", .counter, by: "limit", "How often a limit took effect on a client, by its configuration key")
    static let dedupeIDs = source("dedupe_ids", .gauge, "Message ids in the memory of dedupe")
    static let dedupeCapacity = source("dedupe_capacity_ids", .gauge, "Message ids that fit into dedupe.max_memory")
    static let dedupeWindow = source("dedupe_window_seconds", .gauge, "The configured dedupe.window")
    static let dedupeEffective = source(
        "dedupe_effective_window_seconds", .gauge, "The window in effect, shorter while the memory is full")
    static let dedupeForgotten = source(
        "dedupe_forgotten_ids_total", .counter, "Message ids forgotten before the window was over")
    static let sourceState = source(
        "state", .gauge, by: "state",
        "1 for the state of a source plugin: starting, up, retrying, held, failing, stopped")
    static let restarts = source("restarts_total", .counter, "How often a source plugin's process was started again")
    static let lanes = source("open_lanes", .gauge, "Lanes (partitions, files) from which a source plugin reads")
    static let sourceLag = source(
        "lag_seconds", .gauge, "Age of the events that a source plugin brings in, since another host received them")

    private static let sources = [
        accepted, refused, duplicates, violations, normalised, connections, limits, dedupeIDs, dedupeCapacity,
        dedupeWindow, dedupeEffective, dedupeForgotten, sourceState, restarts, lanes, sourceLag,
    ]

    // MARK: The journal

    static let journalState = Metric(
        "penstock_journal_state", .gauge, labels: ["state"], "1 for the journal's state: ok, full, failed")
    static let firstPosition = Metric("penstock_journal_first_position", .gauge, "Position of the oldest event kept")
    static let nextPosition = Metric("penstock_journal_next_position", .gauge, "Position of the next event")
    static let journalBytes = Metric("penstock_journal_bytes", .gauge, "Size of all files of the journal")
    static let segments = Metric("penstock_journal_segments", .gauge, "Number of segments")
    static let queued = Metric("penstock_journal_queued_bytes", .gauge, "Bytes that wait to be written")
    static let damaged = Metric("penstock_journal_damaged_positions", .gauge, "Positions lost because of damage")
    static let retainBytes = Metric("penstock_journal_retain_bytes", .gauge, "The configured journal.retain.size")
    static let retainSeconds = Metric("penstock_journal_retain_seconds", .gauge, "The configured journal.retain.time")
    static let removedForSpace = Metric(
        "penstock_journal_segments_removed_for_space_total", .counter,
        "Segments removed earlier than journal.retain requires, because the filesystem was full")
    static let writeFailures = Metric(
        "penstock_journal_write_failures_total", .counter, "Writes and syncs of the journal that the disk refused")
    static let syncs = Metric(
        "penstock_journal_sync_seconds", .histogram, "Time of each sync of a segment, which a commit waits for")

    private static let journal = [
        journalState, firstPosition, nextPosition, journalBytes, segments, queued, damaged, retainBytes, retainSeconds,
        removedForSpace, writeFailures, syncs,
    ]

    // MARK: Destinations

    static let destinationState = destination(
        "state", .gauge, by: "state", "1 for the destination's state: up, retrying, held, failing, stopped")
    static let stateSeconds = destination("state_seconds", .gauge, "Time in this state")
    static let position = destination("position", .gauge, "Position below which every event is settled")
    static let delivered = destination("delivered_events_total", .counter, "Events delivered")
    static let filtered = destination(
        "filtered_events_total", .counter, by: "reason",
        "Events not meant for the destination: no_route, integrations, where, or the transform that dropped them")
    static let deadLettered = destination("dead_lettered_events_total", .counter, "Events that became dead letters")
    static let mended = destination(
        "mended_events_total", .counter, "Events that were changed to fit the limits of the service (mend: true)")
    static let dropped = destination(
        "dropped_events_total", .counter, "Events removed before their delivery, because of when_full: drop_oldest")
    static let retries = destination("retries_total", .counter, "How often a batch, or its rest, was sent again")
    static let lagEvents = destination("lag_events", .gauge, "Events that are not settled")
    static let lagSeconds = destination(
        "lag_seconds", .gauge, "Age of the oldest event that is not settled, 0 if all are")
    static let nextAttempt = destination(
        "next_attempt_seconds", .gauge, "Time until the next attempt, only while the destination waits for one")
    static let letters = destination("dead_letters", .gauge, "Dead letters stored now")
    static let letterBytes = destination("dead_letter_bytes", .gauge, "Size of the files of dead letters")
    static let expiredLetters = destination(
        "dead_letters_expired_total", .counter, "Dead letters removed because of dead_letters.time or .size")
    static let retriedLetters = destination(
        "dead_letters_retried_total", .counter, "Dead letters that a retry delivered")
    static let retriesLetters = destination("dead_letters_retrying", .gauge, "1 while dead letters are sent again")
    static let latency = destination(
        "delivery_seconds", .histogram, "Time from the receipt of each event to its delivery, without replays")

    private static let destinations = [
        destinationState, stateSeconds, position, delivered, filtered, deadLettered, mended, dropped, retries,
        lagEvents,
        lagSeconds, nextAttempt, letters, letterBytes, expiredLetters, retriedLetters, retriesLetters, latency,
    ]

    // MARK: Replays

    static let replayed = destination("replayed_events_total", .counter, "Events that replays delivered")
    static let replayState = destination(
        "replay_state", .gauge, by: "state",
        "1 for the state of the current or last replay: running, retrying, held, done, cancelled")
    static let replayStart = destination("replay_start_position", .gauge, "Where the replay began")
    static let replayPosition = destination(
        "replay_position", .gauge, "Position below which the replay has settled every event")
    static let replayEnd = destination("replay_end_position", .gauge, "Where the replay ends")
    static let replayDelivered = destination("replay_delivered_events", .gauge, "Events that this replay delivered")
    static let replayFiltered = destination("replay_filtered_events", .gauge, "Events that this replay left out")
    static let replayDeadLettered = destination(
        "replay_dead_lettered_events", .gauge, "Events of this replay that became dead letters")
    static let replayMissing = destination(
        "replay_missing_positions", .gauge, "Positions of this replay that are no longer in the journal")

    private static let replays = [
        replayed, replayState, replayStart, replayPosition, replayEnd, replayDelivered, replayFiltered,
        replayDeadLettered, replayMissing,
    ]

    // MARK: Plugins

    static let sourcePlugin = Metric(
        "penstock_source_plugin_info", .gauge, labels: ["source", "plugin", "version"], "1, with a source's plugin")
    static let sourcePluginCount = source(
        "plugin_total", .counter, by: "name", "Counters of a source's plugin, by the plugin's names")
    static let sourcePluginValue = source(
        "plugin_value", .gauge, by: "name", "Gauges of a source's plugin, by the plugin's names")
    static let destinationPlugin = Metric(
        "penstock_destination_plugin_info", .gauge, labels: ["destination", "plugin", "version"],
        "1, with a destination's plugin")
    static let destinationPluginCount = destination(
        "plugin_total", .counter, by: "name", "Counters of a destination's plugin, by the plugin's names")
    static let destinationPluginValue = destination(
        "plugin_value", .gauge, by: "name", "Gauges of a destination's plugin, by the plugin's names")

    private static let plugins = [
        sourcePlugin, sourcePluginCount, sourcePluginValue, destinationPlugin, destinationPluginCount,
        destinationPluginValue,
    ]

    private static func source(_ name: String, _ kind: Metric.Kind, by label: String? = nil, _ help: String) -> Metric {
        Metric("penstock_source_" + name, kind, labels: ["source"] + (label.map { [$0] } ?? []), help)
    }

    private static func destination(
        _ name: String, _ kind: Metric.Kind, by label: String? = nil, _ help: String
    ) -> Metric {
        Metric("penstock_destination_" + name, kind, labels: ["destination"] + (label.map { [$0] } ?? []), help)
    }
}
