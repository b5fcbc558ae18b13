import Platform

/// Decides whether every thread makes progress, for the status and for systemd's watchdog. Pure.
///
/// A thread's heartbeat is a counter that grows while the thread works or wakes. It is odd while the thread is busy and
/// even while it sleeps. A thread whose odd counter stands still is stuck; a sleeping thread may stand still.
struct Heartbeats {
    /// How long a busy thread may stand still. The slowest heartbeat changes about once a second, and a disk call may
    /// take some seconds, so shorter pauses are no reason for alarm.
    static let patience = Duration.seconds(5)

    private struct Heart {
        var beat: UInt64
        /// When the beat was first seen.
        var since: Instant
    }

    private var hearts: [String: Heart] = [:]

    /// - Returns: the names of the threads that are stuck for at least `patience`, and for how long.
    mutating func stuck(_ beats: [String: UInt64], at now: Instant) -> [String: Duration] {
        let last = hearts
        hearts = [:]
        for (name, beat) in beats {
            let heart = last[name]
            hearts[name] = heart?.beat == beat ? heart : Heart(beat: beat, since: now)
        }
        return hearts.filter { $0.value.beat % 2 == 1 && now - $0.value.since >= Self.patience }.mapValues {
            now - $0.since
        }
    }
}
