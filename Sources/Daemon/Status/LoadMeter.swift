import Control
import Platform

/// Measures how much of the processors the daemon uses, and which thread uses most, averaged over the last few seconds.
struct LoadMeter {
    private static let process = "process"
    private static let thread = "thread "

    private var meter = RateMeter()
    private var threads: [String] = []

    /// - Parameters:
    ///   - threads: the processor time that each thread has used so far.
    ///   - process: that of all threads, others included.
    mutating func sample(threads: [String: Duration], process: Duration, at time: Instant) {
        self.threads = threads.keys.sorted()
        var counts = [Self.process: UInt64(clamping: process.inNanoseconds)]
        for (name, used) in threads { counts[Self.thread + name] = UInt64(clamping: used.inNanoseconds) }
        meter.sample(counts, at: time)
    }

    /// - Parameter processors: how many the daemon may use.
    /// - Returns: nil: nothing is known yet.
    func load(of processors: Double) -> StatusReport.Load? {
        let shares = threads.map { (name: $0, used: meter.rate(of: Self.thread + $0) / 1e9) }
        guard let busiest = shares.max(by: { $0.used < $1.used }), busiest.used > 0 else { return nil }
        return StatusReport.Load(
            processors: processors, used: meter.rate(of: Self.process) / 1e9, busiestThread: busiest.name,
            busiestUsed: busiest.used)
    }
}
