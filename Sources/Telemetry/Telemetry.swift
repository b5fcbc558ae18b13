// Telemetry: counters, histograms, the log, and the text in which collectors read metrics. It depends on no other room,
// so every room can use it.
//
// - A named event is both a counter and a log line. No code counts and logs separately.
// - Every event is counted. At most `lineLimit` lines of one name are logged per interval; the next interval starts
//   with the number of suppressed lines.
// - Emitting never throws and blocks no longer than a write to stderr. Recording a duration never blocks and allocates
//   nothing.

import Synchronization

/// Receives log lines.
package protocol LogSink: Sendable {
    /// Any thread. `line` has no trailing line feed.
    func write(_ level: Level, _ line: String)
}

/// The daemon's recorder of named events. Any thread.
package final class Telemetry: Sendable {
    private struct Series {
        var count: UInt64 = 0
        var windowStart: Int64 = 0
        var linesInWindow = 0
        var suppressed = 0
    }

    /// How many lines of one name are logged per interval. Further events are only counted.
    package static let lineLimit = 20
    /// The interval of `lineLimit`, in nanoseconds.
    package static let interval: Int64 = 10_000_000_000

    private let sink: any LogSink
    private let minimum: Level
    private let now: @Sendable () -> Int64
    private let series = Mutex<[String: Series]>([:])

    /// - Parameter now: returns monotonic nanoseconds. Injected so that tests control time.
    package init(sink: any LogSink, minimum: Level = .info, now: @escaping @Sendable () -> Int64) {
        self.sink = sink
        self.minimum = minimum
        self.now = now
    }

    /// Counts the event, and logs it if its level is at least the minimum.
    package func emit<Event: NamedEvent>(_ event: Event) {
        let logged = event.level >= minimum
        let time = logged ? now() : 0
        let (write, left) = series.withLock { series -> (Bool, Int) in
            var one = series[Event.name] ?? Series()
            defer { series[Event.name] = one }
            one.count += 1
            guard logged else { return (false, 0) }
            var left = 0
            if one.linesInWindow == 0 || time - one.windowStart >= Self.interval {
                left = one.suppressed
                one.windowStart = time
                one.linesInWindow = 0
                one.suppressed = 0
            }
            guard one.linesInWindow < Self.lineLimit else {
                one.suppressed += 1
                return (false, 0)
            }
            one.linesInWindow += 1
            return (true, left)
        }
        if left > 0 { sink.write(event.level, "\(Event.name): \(left) similar line\(left == 1 ? "" : "s") suppressed") }
        if write { sink.write(event.level, event.message) }
    }

    /// How often each named event was emitted since the start.
    package func counts() -> [String: UInt64] {
        series.withLock { $0.mapValues(\.count) }
    }
}
