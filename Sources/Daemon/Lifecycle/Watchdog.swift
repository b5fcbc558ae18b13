import Platform
import Telemetry

/// Notifies systemd's watchdog as long as every thread makes progress. Main thread only.
struct Watchdog {
    private let service: ServiceNotifier
    private var stuck: Set<String> = []
    /// The time of the next notification; nil: the unit has no watchdog.
    private(set) var next: Instant?

    init(service: ServiceNotifier, clock: any Clock) {
        self.service = service
        next = service.watchdogInterval == nil ? nil : clock.now()
    }

    /// Call once a tick, and at `next`.
    /// - Parameter stuck: names of the threads that make no progress.
    mutating func check(at now: Instant, stuck: Set<String>, telemetry: Telemetry) {
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
    static let messageID = "8576cb4e70fa5d21ae7c01bcab93a4c7"
    let names: [String]
    let isWatched: Bool
    let level = Level.error
    var fields: [LogField] { [] }
    var message: String {
        "no progress for \(Heartbeats.patience.components.seconds) s in \(names.joined(separator: ", "))"
            + (isWatched ? ": systemd restarts the daemon if this continues" : ": see penstock status")
    }
}
