import Platform
import Telemetry

/// Tells systemd's watchdog that all is well, as long as every thread makes progress. Main thread.
struct Watchdog {
    private let service: ServiceManager
    private var stuck: Set<String> = []
    /// When it is to be told next; nil: systemd asked for no watchdog.
    private(set) var next: Instant?

    init(service: ServiceManager, clock: any Clock) {
        self.service = service
        next = service.watchdogInterval == nil ? nil : clock.now()
    }

    /// Called once a tick, and at `next`.
    /// - Parameter stuck: names of the threads that make no progress.
    mutating func look(at now: Instant, stuck: Set<String>, telemetry: Telemetry) {
        if !stuck.isEmpty, stuck != self.stuck {
            telemetry.emit(ThreadsStuck(names: stuck.sorted(), isWatched: service.watchdogInterval != nil))
        }
        self.stuck = stuck
        guard let interval = service.watchdogInterval, let due = next, now >= due else { return }
        // Half of systemd's interval, as sd_watchdog_enabled(3) advises.
        next = now + interval / 2
        if stuck.isEmpty { service.watchdog() }
    }
}

struct ThreadsStuck: NamedEvent {
    static let name = "threads_stuck"
    let names: [String]
    let isWatched: Bool
    let level = Level.error
    var message: String {
        "no progress for \(Heartbeats.patience.components.seconds) s in \(names.joined(separator: ", "))"
            + (isWatched ? ": systemd restarts the daemon unless that changes" : ": see penstock status")
    }
}
