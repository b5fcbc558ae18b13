import Assembly
import DaemonConfiguration
import Control
import Delivery
import Destinations
import Events
import Foundation
import Ingest
import Journal
import JournalAdapters
import Platform
import PluginSources
import PluginHosting
import Synchronization
import Telemetry

/// Collects the status report from the other rooms. Any thread may call `report`; the main thread samples once a tick.
final class StatusCollector: Sendable {
    private struct Source {
        var statistics: SourceStatistics
        var listens: [String]
        var unit: String?
    }

    private let journal: Journal
    private let pipeline: Pipeline
    private let plugins: SourcePlugins
    private let descriptors: DescriptorReserve
    private let files: RunningFiles
    private let clock: any Clock
    private let started: Instant
    private let sources = Mutex<[String: Source]>([:])
    private let timings: JournalTimings
    private let rates = Mutex(RateMeter())
    private let load = Mutex(LoadMeter())
    private let latencies = Mutex(RecentLatencies())
    private let recent = Mutex(Recent())
    private let receiveTimes = Mutex(ReceiveTimes())
    private let condition = Mutex(Condition())

    /// Problems of the daemon itself, reported by the main thread.
    private struct Condition {
        var stuckThreads: [String: Duration] = [:]
        var refusedReload: StatusReport.RefusedReload?
        /// Positions lost to damage that nobody has dealt with.
        var damage: UInt64 = 0
        var isStopping = false
        /// The URL of the metrics.
        var metrics: String?
    }

    /// Problems within the last minutes.
    private struct Recent {
        /// Keyed by destination.
        var deadLetters = RecentGrowth<String>()
        var refusals = RecentGrowth<Refused>()
        var lags = LagTrend()
        /// Clients that a limit has disconnected or turned away, by the limit's name.
        var limits = RecentGrowth<Refused>()
    }

    private struct Refused: Hashable {
        var source: String
        var reason: String
    }

    init(
        journal: Journal, timings: JournalTimings, pipeline: Pipeline, plugins: SourcePlugins,
        descriptors: DescriptorReserve, files: RunningFiles, clock: any Clock
    ) {
        self.files = files
        self.timings = timings
        self.plugins = plugins
        self.descriptors = descriptors
        self.journal = journal
        self.pipeline = pipeline
        self.clock = clock
        started = clock.now()
    }

    /// Returns the counters of a source, or new counters for an unknown source. A source keeps its counters across
    /// reloads.
    func statistics(of source: String) -> SourceStatistics {
        sources.withLock { $0[source]?.statistics } ?? SourceStatistics()
    }

    /// The counters of all sources, by name.
    var sourceStatistics: [String: SourceStatistics] { sources.withLock { $0.mapValues(\.statistics) } }

    /// Adds a source to the report, or updates it.
    func add(source: String, _ statistics: SourceStatistics, listens: [String], unit: String?) {
        sources.withLock { $0[source] = Source(statistics: statistics, listens: listens, unit: unit) }
    }

    func forget(source: String) {
        sources.withLock { $0[source] = nil }
    }

    /// Sets the threads that make no progress, and for how long. Main thread.
    func note(stuckThreads: [String: Duration]) { condition.withLock { $0.stuckThreads = stuckThreads } }

    var stuckThreads: Int { condition.withLock { $0.stuckThreads.count } }

    /// From now on, no new events are accepted.
    func noteStopping() { condition.withLock { $0.isStopping = true } }

    var isStopping: Bool { condition.withLock { $0.isStopping } }

    /// Sets where the metrics are; nil: nowhere.
    func note(metrics: String?) { condition.withLock { $0.metrics = metrics } }

    /// Sets the last refused reload; nil if the files equal the running configuration.
    func note(refusedReload: StatusReport.RefusedReload?) { condition.withLock { $0.refusedReload = refusedReload } }

    /// Clears this refusal, unless a later one has replaced it.
    func forget(_ reload: StatusReport.RefusedReload) {
        condition.withLock { if $0.refusedReload == reload { $0.refusedReload = nil } }
    }

    var refusedReload: StatusReport.RefusedReload? { condition.withLock { $0.refusedReload } }

    /// The first unsettled position of each destination whose receive time must be read from the journal.
    func unknownTimes() -> [String: UInt64] {
        let end = journal.statistics().next
        let waiting = (pipeline.destinations + pipeline.awaited).map(\.worker.status)
            .filter { $0.oldestUnsettled == nil && $0.positionSettled < end }
        return receiveTimes.withLock { times in
            Dictionary(
                waiting.filter { times.mustLookUp($0.positionSettled, for: $0.name) }.map {
                    ($0.name, $0.positionSettled)
                },
                uniquingKeysWith: { first, _ in first })
        }
    }

    /// Reads these receive times from the journal. May block on the disk.
    /// - Parameter isWanted: false: stop, because the daemon stops.
    func lookUp(_ positions: [String: UInt64], while isWanted: () -> Bool) {
        var batch = EventBatch()
        for (name, position) in positions where isWanted() {
            batch.removeAll()
            // A position that cannot be read is tried again at the next tick.
            guard (try? journal.makeReader(from: position).read(into: &batch, maximumBytes: 1)) == true,
                let event = batch.events.first
            else { continue }
            receiveTimes.withLock { $0.note(event.receivedAt, of: position, for: name) }
        }
    }

    /// Looks whether somebody has dealt with the journal's damage. May block on the disk.
    func lookForDamage() {
        let damage = journal.unresolvedDamage()
        condition.withLock { $0.damage = damage }
    }

    /// The memory of message ids of each source that deduplicates.
    var deduplications: [String: Deduplication.Status] {
        let sources = sources.withLock { $0 }
        return sources.compactMapValues { $0.statistics.deduplication.status(at: clock.now()) }
    }

    /// Samples all counters and lags. Main thread, once a tick.
    func sample() {
        let (end, wallClock) = (journal.statistics().next, clock.wallClock())
        receiveTimes.withLock { $0.note(end: end, at: wallClock) }
        var counts: [String: UInt64] = [:]
        var letters: [String: UInt64] = [:]
        var refusals: [Refused: UInt64] = [:]
        var limits: [Refused: UInt64] = [:]
        let snapshots = sources.withLock { $0.mapValues { $0.statistics.snapshot() } }
        for (name, source) in snapshots {
            counts["sources", default: 0] &+= source.accepted
            // An application is told what was refused. A plugin's events are gone with it, so each reason counts.
            let isPlugin = plugins[name] != nil
            for (reason, count) in source.refusedByReason
            where isPlugin || DegradedReasons.limits.contains(reason.rawValue) {
                refusals[Refused(source: name, reason: reason.rawValue)] = count
            }
            for (limit, effects) in source.limits where limit.refuses {
                limits[Refused(source: name, reason: limit.rawValue)] = effects.count
            }
        }
        for destination in pipeline.destinations {
            let status = destination.worker.status
            counts["to \(status.name)"] = status.delivered
            letters[status.name] = status.deadLettered
        }
        let lags = self.lags(end: end, wallClock: wallClock)
        let now = clock.now()
        rates.withLock { $0.sample(counts, at: now) }
        let (threads, process) = (WorkerThread.processorTimes, ProcessUsage.processorTime)
        load.withLock { $0.sample(threads: threads, process: process, at: now) }
        latencies.withLock { latencies in
            latencies.sample(at: now) {
                var snapshots: [RecentLatencies.Key: Histogram.Snapshot] = [
                    .sync: timings.syncs.snapshot(), .commit: timings.commits.snapshot(),
                ]
                for worker in pipeline.destinations.map(\.worker) {
                    snapshots[.destination(worker.name)] = worker.measuredLatencies
                }
                return snapshots
            }
        }
        recent.withLock {
            $0.deadLetters.sample(letters, at: now)
            $0.refusals.sample(refusals, at: now)
            $0.lags.sample(lags, at: now)
            $0.limits.sample(limits, at: now)
        }
        receiveTimes.withLock { $0.forget(allBut: Set(letters.keys)) }
    }

    /// The lag of each destination that is up.
    private func lags(end: UInt64, wallClock: Int64) -> [String: LagTrend.Lag] {
        var lags: [String: LagTrend.Lag] = [:]
        for destination in pipeline.destinations {
            let status = destination.worker.status
            guard status.state == .up else { continue }
            lags[status.name] = LagTrend.Lag(
                seconds: lagSeconds(status, end: end, wallClock: wallClock),
                batchWait: Double(destination.worker.batchWait.inNanoseconds) / 1e9)
        }
        return lags
    }

    /// The age of the first unsettled event in seconds; 0 if everything is settled.
    private func lagSeconds(_ status: DeliveryStatus, end: UInt64, wallClock: Int64) -> Double {
        guard status.positionSettled < end else { return 0 }
        let time =
            status.oldestUnsettled ?? receiveTimes.withLock { $0.time(of: status.positionSettled, for: status.name) }
        return time.map { max(0, Double(wallClock.saturatingSubtract($0)) / 1e9) } ?? 0
    }

    var sentence: String { StatusText.sentence(report()) }

    func report() -> StatusReport {
        let rates = self.rates.withLock { $0 }
        let latencies = self.latencies.withLock { $0 }
        let snapshots = sources.withLock { $0.mapValues { ($0.statistics.snapshot(), $0) } }
        let wallClock = clock.wallClock()
        let statistics = journal.statistics()
        var destinations: [String: StatusReport.Destination] = [:]
        for destination in pipeline.destinations {
            let status = destination.worker.status
            destinations[status.name] = StatusReport.Destination(
                status, end: statistics.next,
                lagSeconds: lagSeconds(status, end: statistics.next, wallClock: wallClock),
                wallClock: wallClock, eventsPerSecond: rates.rate(of: "to \(status.name)"),
                dropped: statistics.dropped[status.name] ?? 0)
            destinations[status.name]?.latency = latencies.latency(
                of: .destination(status.name), destination.worker.measuredLatencies, at: clock.now())
            destinations[status.name]?.deadLetters = .init(destination.deadLetters, status)
            destinations[status.name]?.mended = destination.mended?.count
            destinations[status.name]?.plugin = destination.plugin?.facts.map(StatusReport.Plugin.init)
            let kept = JournalCursors(journal: journal, owner: "").replay(of: status.name)
            destinations[status.name]?.replay = .init(status.replay, kept: kept)
            if let began = destination.turnBegan, clock.now() - began >= Heartbeats.patience {
                destinations[status.name]?.hangs("it hangs in a call (disk, plugin or script) for", clock.now() - began)
            }
        }
        for destination in pipeline.awaited {
            let status = destination.worker.status
            destinations[status.name] = StatusReport.Destination(
                status, end: statistics.next,
                lagSeconds: lagSeconds(status, end: statistics.next, wallClock: wallClock),
                wallClock: wallClock, eventsPerSecond: 0, dropped: statistics.dropped[status.name] ?? 0)
            let began = destination.turnBegan ?? clock.now()
            destinations[status.name]?.hangs(
                "it waits for its predecessor, which hangs in a call (disk, plugin or script) for",
                clock.now() - began)
        }
        let refusals = snapshots.flatMap { name, source in source.0.recent.map { (name, $0) } }
            .sorted { $0.1.time < $1.1.time }
            .suffix(SourceStatistics.recentLimit)
        let (lags, now) = (lags(end: statistics.next, wallClock: wallClock), clock.now())
        let recent = self.recent.withLock {
            ($0.deadLetters.growth, $0.refusals.growth, $0.lags.growing(lags, at: now), $0.limits.growth)
        }
        let condition = self.condition.withLock { $0 }
        var journal = StatusReport.Journal(statistics)
        journal.sync = latencies.latency(of: .sync, timings.syncs.snapshot(), at: now)
        journal.commit = latencies.latency(of: .commit, timings.commits.snapshot(), at: now)
        let sources = snapshots.reduce(into: [String: StatusReport.Source]()) { sources, entry in
            let (snapshot, source) = entry.value
            sources[entry.key] = StatusReport.Source(
                snapshot, source.statistics.deduplication.status(at: now), listens: source.listens,
                socketUnit: source.unit, plugin: plugins[entry.key]?.status)
        }
        let reasons = DegradedReasons(
            journal: journal, destinations: destinations, sources: sources, stuckThreads: condition.stuckThreads,
            refusedReload: condition.refusedReload, fallingBehind: recent.2, recentDeadLetters: recent.0,
            recentRefusals: recent.1.reduce(into: [:]) { $0[$1.key.source, default: [:]][$1.key.reason] = $1.value },
            recentLimits: recent.3.reduce(into: [:]) { $0[$1.key.source, default: [:]][$1.key.reason] = $1.value },
            damage: condition.damage, descriptors: descriptors.problem)
        return StatusReport(
            reasons: reasons.list, version: Release.version,
            uptimeSeconds: Double((clock.now() - started).inNanoseconds) / 1e9,
            eventsPerSecond: rates.rate(of: "sources"),
            sources: sources,
            journal: journal,
            destinations: destinations,
            recentRefusals: refusals.map { name, recent in
                StatusReport.Refusal(
                    time: Timestamp.format(recent.time), source: name, reason: recent.refusal.reason.rawValue,
                    detail: recent.refusal.detail, messageID: recent.refusal.messageID)
            },
            refusedReload: condition.refusedReload, metrics: condition.metrics, host: HostName.current,
            configurationHash: files.hash,
            load: load.withLock { $0 }.load(of: ProcessorLimit.current))
    }
}

extension StatusReport.Destination {
    /// Marks the destination as failing because its thread hangs in a call.
    fileprivate mutating func hangs(_ what: String, _ duration: Duration) {
        state = .failing
        lastError = "\(what) \(duration.components.seconds) s"
        lastErrorTime = nil
        lastAnswer = nil
        nextAttemptSeconds = nil
    }

    fileprivate init(
        _ status: DeliveryStatus, end: UInt64, lagSeconds: Double, wallClock: Int64, eventsPerSecond: Double,
        dropped: UInt64
    ) {
        let lag = end > status.positionSettled ? end - status.positionSettled : 0
        self.init(
            state: State(status.state), position: status.positionSettled, delivered: status.delivered,
            filtered: status.filtered.values.reduce(0, +), deadLettered: status.deadLettered, retries: status.retries,
            eventsPerSecond: eventsPerSecond, lagEvents: lag,
            lagSeconds: lagSeconds,
            lastError: status.lastError?.message,
            nextAttemptSeconds: status.nextAttempt.map { max(0, Double($0.saturatingSubtract(wallClock)) / 1e9) },
            since: Timestamp.format(status.since),
            stateSeconds: max(0, Double(wallClock.saturatingSubtract(status.since)) / 1e9),
            lastErrorTime: status.lastError.map { Timestamp.format($0.at) },
            lastAnswer: status.lastError.flatMap { $0.answer.isEmpty ? nil : $0.answer },
            filteredByReason: status.filtered, dropped: dropped)
        replayed = status.replayed
    }
}

extension StatusReport.Destination.DeadLetters {
    fileprivate init(_ file: DeadLetterFile, _ status: DeliveryStatus) {
        self.init(
            letters: UInt64(clamping: file.store.count), bytes: UInt64(clamping: file.store.bytes),
            expired: file.store.expired,
            retried: status.retried, isRetrying: file.isRetrying, lastError: status.retry?.lastError?.message)
    }
}

extension StatusReport.Destination.Replay {
    /// - Parameters:
    ///   - status: the worker's report on the current or the last replay.
    ///   - kept: the current replay in the journal. The worker may not have begun it yet.
    fileprivate init?(_ status: DeliveryStatus.Backfill?, kept: Replay?) {
        let isKnown = kept == nil || status?.replay?.id == kept?.id
        guard let replay = isKnown ? status?.replay : kept else { return nil }
        let progress = isKnown ? status?.progress ?? replay.progress : replay.progress
        var state = State.running
        switch isKnown ? status?.state : .running {
        case .running, nil: state = .running
        case .retrying: state = .retrying
        case .held: state = .held
        case .done: state = .done
        case .cancelled: state = .cancelled
        }
        self.init(
            id: replay.id, state: state, from: Timestamp.format(replay.from), until: Timestamp.format(replay.until),
            condition: replay.condition, eventsPerSecond: replay.eventsPerSecond,
            accepted: Timestamp.format(replay.acceptedAt),
            start: replay.start, position: progress.position, end: replay.end, delivered: progress.delivered,
            filtered: progress.filtered, deadLettered: progress.deadLettered, missing: progress.missing,
            lastError: isKnown ? status?.lastError?.message : nil)
    }
}

extension StatusReport.Destination.State {
    init(_ state: DeliveryStatus.State) {
        self =
            switch state {
            case .up: .up
            case .retrying: .retrying
            case .held: .held
            case .failing: .failing
            case .stopped: .stopped
            }
    }
}
