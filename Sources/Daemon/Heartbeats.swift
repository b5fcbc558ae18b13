/// Decides whether every thread makes progress: what the watchdog is told. Pure.
///
/// A thread's heartbeat is a number that grows while it works or wakes, odd while it is in the
/// middle of something and even while it sleeps. One that stands still at an odd number is stuck;
/// a sleeping one may stand still.
struct Heartbeats {
    private var last: [String: UInt64] = [:]

    /// - Returns: the names of threads that are in the middle of the same thing as at the last look.
    mutating func stuck(_ now: [String: UInt64]) -> [String] {
        defer { last = now }
        return now.filter { name, beat in beat % 2 == 1 && last[name] == beat }.map(\.key).sorted()
    }
}
