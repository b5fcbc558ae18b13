import Platform

/// Decides whether every thread makes progress: for the status, and for systemd's watchdog. Pure.
///
/// A thread's heartbeat is a number that grows while it works or wakes, odd while it is in the
/// middle of something and even while it sleeps. One that stands still at an odd number is stuck;
/// a sleeping one may stand still.
struct Heartbeats {
    /// How long a heart may stand still. The slowest beats about once a second, and a disk may
    /// take its time; however often somebody looks, that is no reason for alarm.
    static let patience = Duration.seconds(5)

    private struct Heart {
        var beat: UInt64
        /// When the beat was first seen.
        var since: Instant
    }

    private var hearts: [String: Heart] = [:]

    /// - Returns: the names of threads that have been in the middle of the same thing for longer
    ///   than `patience`, and for how long.
    mutating func stuck(_ beats: [String: UInt64], at now: Instant) -> [String: Duration] {
        let last = hearts
        hearts = [:]
        for (name, beat) in beats {
            let heart = last[name]
            hearts[name] = heart?.beat == beat ? heart : Heart(beat: beat, since: now)
        }
        return hearts.filter { $0.value.beat % 2 == 1 && now - $0.value.since >= Self.patience }.mapValues { now - $0.since }
    }
}
