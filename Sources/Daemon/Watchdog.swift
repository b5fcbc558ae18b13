import Platform
import Telemetry

/// Tells systemd's watchdog that all is well, as long as every thread makes progress. Main thread.
struct Watchdog {
    private let service: ServiceManager
    private var heartbeats = Heartbeats()
    /// When it is to be told next; nil: systemd asked for no watchdog.
    private(set) var next: Instant?

    init(service: ServiceManager, clock: any Clock) {
        self.service = service
        next = service.watchdogInterval == nil ? nil : clock.now()
    }

    /// Called once a tick, and at `next`.
    /// - Parameter beats: each thread's heartbeat by its name (see `Heartbeats`).
    mutating func look(at now: Instant, _ beats: () -> [String: UInt64], telemetry: Telemetry) {
        guard let interval = service.watchdogInterval, let due = next, now >= due else { return }
        // Half of systemd's interval, as sd_watchdog_enabled(3) advises.
        next = now + interval / 2
        let stuck = heartbeats.stuck(beats(), at: now)
        if stuck.isEmpty {
            service.watchdog()
        } else {
            telemetry.emit(ThreadsStuck(names: stuck))
        }
    }
}

struct ThreadsStuck: NamedEvent {
    static let name = "threads_stuck"
    let names: [String]
    let level = Level.error
    var message: String {
        "no progress in \(names.joined(separator: ", ")): the watchdog is not told that all is well; unless it goes on, systemd restarts the daemon"
    }
}
