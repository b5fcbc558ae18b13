import Configuration
import Control
import Delivery
import Events
import Ingest
import Journal
import Platform
import Synchronization

/// Gathers the status report from the rooms. Any thread asks; the main thread samples once a tick.
final class StatusCollector: Sendable {
    private struct Source {
        var statistics: SourceStatistics
        var listens: [String]
    }

    private let journal: Journal
    private let pipeline: Pipeline
    private let clock: any Clock
    private let started: Instant
    private let sources = Mutex<[String: Source]>([:])
    private let rates = Mutex(RateMeter())

    init(journal: Journal, pipeline: Pipeline, clock: any Clock) {
        self.journal = journal
        self.pipeline = pipeline
        self.clock = clock
        started = clock.now()
    }

    /// The counters of a source, which live as long as the daemon knows the source.
    func statistics(of source: String, listens: [String]) -> SourceStatistics {
        sources.withLock { sources in
            let statistics = sources[source]?.statistics ?? SourceStatistics()
            sources[source] = Source(statistics: statistics, listens: listens)
            return statistics
        }
    }

    func forget(source: String) {
        sources.withLock { $0[source] = nil }
    }

    /// Main thread, once a tick.
    func sample() {
        var counts = ["sources": sources.withLock { $0.values.reduce(0) { $0 + $1.statistics.snapshot().accepted } }]
        for destination in pipeline.destinations { counts["to \(destination.worker.name)"] = destination.worker.status.delivered }
        let now = clock.now()
        rates.withLock { $0.sample(counts, at: now) }
    }

    var sentence: String { StatusText.sentence(report()) }

    func report() -> StatusReport {
        let rates = self.rates.withLock { $0 }
        let snapshots = sources.withLock { $0.mapValues { ($0.statistics.snapshot(), $0.listens) } }
        let wallClock = clock.wallClock()
        let statistics = journal.statistics()
        var destinations: [String: StatusReport.Destination] = [:]
        for destination in pipeline.destinations {
            let status = destination.worker.status
            destinations[status.name] = StatusReport.Destination(
                status, end: statistics.next, wallClock: wallClock, eventsPerSecond: rates.rate(of: "to \(status.name)"), dropped: statistics.dropped[status.name] ?? 0)
            if let began = destination.turnBegan, clock.now() - began >= Heartbeats.patience {
                destinations[status.name]?.hangs("it has been in one call (a disk, a plugin) for", clock.now() - began)
            }
        }
        for destination in pipeline.awaited {
            let status = destination.worker.status
            destinations[status.name] = StatusReport.Destination(
                status, end: statistics.next, wallClock: wallClock, eventsPerSecond: 0,
                dropped: statistics.dropped[status.name] ?? 0)
            let began = destination.turnBegan ?? clock.now()
            destinations[status.name]?.hangs(
                "it starts when a call of the one before it (a disk, a plugin) returns, which has lasted", clock.now() - began)
        }
        let refusals = snapshots.flatMap { name, source in source.0.recent.map { (name, $0) } }
            .sorted { $0.1.time < $1.1.time }
            .suffix(SourceStatistics.recentLimit)
        return StatusReport(
            version: Daemon.version, uptimeSeconds: Double((clock.now() - started).inNanoseconds) / 1e9,
            eventsPerSecond: rates.rate(of: "sources"),
            sources: snapshots.mapValues { snapshot, listens in
                StatusReport.Source(
                    accepted: snapshot.accepted, refused: snapshot.refused,
                    refusedByReason: Dictionary(
                        uniqueKeysWithValues: snapshot.refusedByReason.map { ($0.key.rawValue, $0.value) }),
                    violationsByReason: Dictionary(
                        uniqueKeysWithValues: snapshot.violationsByReason.map { ($0.key.rawValue, $0.value) }),
                    connections: snapshot.connections, listens: listens)
            },
            journal: StatusReport.Journal(statistics),
            destinations: destinations,
            recentRefusals: refusals.map { name, recent in
                StatusReport.Refusal(
                    time: Timestamp.format(recent.time), source: name, reason: recent.refusal.reason.rawValue,
                    detail: recent.refusal.detail, messageID: recent.refusal.messageID)
            })
    }
}

extension StatusReport.Destination {
    /// Its thread does not come back.
    fileprivate mutating func hangs(_ what: String, _ duration: Duration) {
        state = .failing
        lastError = "\(what) \(duration.components.seconds) s"
        lastErrorTime = nil
        lastAnswer = nil
        nextAttemptSeconds = nil
    }

    fileprivate init(_ status: DeliveryStatus, end: UInt64, wallClock: Int64, eventsPerSecond: Double, dropped: UInt64) {
        let lag = end > status.positionSettled ? end - status.positionSettled : 0
        self.init(
            state: State(status.state), position: status.positionSettled, delivered: status.delivered,
            filtered: status.filtered.values.reduce(0, +), deadLettered: status.deadLettered, retries: status.retries,
            eventsPerSecond: eventsPerSecond, lagEvents: lag,
            lagSeconds: lag == 0 ? 0 : status.oldestUnsettled.map { max(0, Double(wallClock - $0) / 1e9) } ?? 0,
            lastError: status.lastError?.message,
            nextAttemptSeconds: status.nextAttempt.map { max(0, Double($0 - wallClock) / 1e9) },
            since: Timestamp.format(status.since), stateSeconds: max(0, Double(wallClock - status.since) / 1e9),
            lastErrorTime: status.lastError.map { Timestamp.format($0.at) },
            lastAnswer: status.lastError.flatMap { $0.answer.isEmpty ? nil : $0.answer },
            filteredByReason: status.filtered, dropped: dropped)
    }
}

extension StatusReport.Destination.State {
    fileprivate init(_ state: DeliveryStatus.State) {
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
