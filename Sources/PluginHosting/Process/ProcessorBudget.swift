import Platform

/// How much processor time a plugin's process may use: a share of a processor over time, and ten seconds of that share
/// at once. The kernel ends the process at a limit that moves on with the calls of the plugin. So an idle plugin needs
/// no watch.
package struct ProcessorBudget {
    /// Processors; 0.5 is half of one.
    private let share: Double
    /// What may be used at once, and what is left of it.
    private let burst: Double
    private var left: Double
    private var renewed: Instant
    private var used = 0.0

    package init(share: Double, _ now: Instant) {
        self.share = share
        burst = max(1, 10 * share)
        left = burst
        renewed = now
    }

    /// - Parameter used: the processor time that the process has used up to now.
    /// - Returns: the processor time, in seconds, at which the process is to end; nil: it has used too much already.
    package mutating func renew(used: Duration, _ now: Instant) -> Int64? {
        let seconds = used / .seconds(1)
        left = min(burst, left + share * ((now - renewed) / .seconds(1)) - (seconds - self.used))
        renewed = now
        self.used = seconds
        guard left > 0 else { return nil }
        return Int64((seconds + left).rounded(.up))
    }

    /// Whether it is time to call `renew` again.
    package func isDue(_ now: Instant) -> Bool { now - renewed >= .milliseconds(500) }
}
