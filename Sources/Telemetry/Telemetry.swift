// Telemetry: counters and the log. It knows no other room, so every room may speak through it.
//
// - One named event is a counter and a log line; nobody counts and logs separately.
// - A flood of one event is counted in full but logged at most `lineLimit` times an interval,
//   followed by how many were left out.
// - Emitting never throws and never blocks longer than a write to stderr.

import Synchronization

/// Where log lines go.
package protocol LogSink: Sendable {
    /// Any thread. `line` has no line feed at its end.
    func write(_ level: Level, _ line: String)
}

/// The daemon's one recorder of named events. Any thread.
package final class Telemetry: Sendable {
    private struct Series {
        var count: UInt64 = 0
        var windowStart: Int64 = 0
        var linesInWindow = 0
        var suppressed = 0
    }

    /// Lines of one name that are logged within one interval; the rest are counted.
    package static let lineLimit = 20
    /// The interval of `lineLimit`, in nanoseconds.
    package static let interval: Int64 = 10_000_000_000

    private let sink: any LogSink
    private let minimum: Level
    private let now: @Sendable () -> Int64
    private let series = Mutex<[String: Series]>([:])

    /// - Parameter now: monotonic nanoseconds; given, so that tests decide about time.
    package init(sink: any LogSink, minimum: Level = .info, now: @escaping @Sendable () -> Int64) {
        self.sink = sink
        self.minimum = minimum
        self.now = now
    }

    /// Counts the event and, if its level asks for it, logs it.
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
        if left > 0 { sink.write(event.level, "\(Event.name): \(left) more lines like this were left out") }
        if write { sink.write(event.level, event.message) }
    }

    /// How often each named event has been emitted since the start.
    package func counts() -> [String: UInt64] {
        series.withLock { $0.mapValues(\.count) }
    }
}
