import Control
import Events
import Platform
import Synchronization

/// What was accepted and delivered in the last hour, in steps of ten seconds. It is kept in the daemon, so that a
/// person who opens the page at night sees what happened before. Any thread may ask; the main thread samples.
final class DeliveryHistory: Sendable {
    /// The length and the number of steps: one hour.
    static let step = Duration.seconds(10)
    static let steps = 360
    /// The most figures. Each takes about 3 KiB, so all take 6 MiB at most.
    static let largestCount = 2_000

    private struct Key: Hashable {
        var owner: HistoryReport.Series.Owner
        var name: String
        var figure: String
        var reason: String?
    }

    private struct Figure {
        /// The counter at the last step.
        var total: UInt64 = 0
        /// By the number of the step, modulo `steps`.
        var values = [UInt64](repeating: 0, count: DeliveryHistory.steps)
        /// The last step in which it was not zero.
        var lastUse: UInt64 = 0
    }

    private struct State {
        var figures: [Key: Figure] = [:]
        /// The number of steps so far.
        var count: UInt64 = 0
        var omitted = 0
        /// When the current step ends; nil: nothing has been sampled yet.
        var due: Instant?
        var end: Int64 = 0
    }

    private let state = Mutex(State())
    private let clock: any Clock

    init(clock: any Clock) { self.clock = clock }

    /// Ends the current step if it is time. Call once a tick.
    func sample(_ report: () -> StatusReport) {
        let now = clock.now()
        let isDue = state.withLock { $0.due.map { now >= $0 } ?? true }
        guard isDue else { return }
        let (counters, lags) = Self.figures(of: report())
        let wallClock = clock.wallClock()
        state.withLock { state in
            guard let due = state.due else {
                // What was counted before the first sample belongs to no step.
                state.due = now + Self.step
                for (key, total) in counters { Self.change(key, &state) { $0.total = total } }
                return
            }
            // After a pause of the whole machine, the steps continue from now.
            state.due = now - due > Self.step ? now + Self.step : due + Self.step
            state.end = wallClock
            let step = state.count
            let place = Int(step % UInt64(Self.steps))
            for key in state.figures.keys { state.figures[key]?.values[place] = 0 }
            state.omitted = 0
            for (key, total) in counters {
                Self.change(key, &state) { figure in
                    // A destination that a reload has changed begins again.
                    let growth = total >= figure.total ? total - figure.total : total
                    figure.total = total
                    figure.values[place] = growth
                    if growth > 0 { figure.lastUse = step }
                }
            }
            for (key, lag) in lags {
                Self.change(key, &state) { figure in
                    figure.values[place] = lag
                    if lag > 0 { figure.lastUse = step }
                }
            }
            state.count = step + 1
            // A destination that is gone leaves the history with its last value.
            let present = Set(counters.map(\.0)).union(lags.map(\.0))
            state.figures = state.figures.filter {
                present.contains($0.key) || state.count - $0.value.lastUse < UInt64(Self.steps)
            }
        }
    }

    /// - Parameter first: the number of the first wanted step.
    func report(from first: UInt64) -> HistoryReport {
        state.withLock { state in
            let oldest = state.count > UInt64(Self.steps) ? state.count - UInt64(Self.steps) : 0
            let first = min(max(first, oldest), state.count)
            let series = state.figures.compactMap { key, figure -> HistoryReport.Series? in
                let values = (first..<state.count).map { figure.values[Int($0 % UInt64(Self.steps))] }
                guard values.contains(where: { $0 > 0 }) else { return nil }
                return .init(
                    owner: key.owner, name: key.name, figure: key.figure, reason: key.reason, values: values)
            }
            return HistoryReport(
                stepSeconds: Double(Self.step.inNanoseconds) / 1e9, first: first, next: state.count,
                end: Timestamp.format(state.end),
                series: series.sorted {
                    ($0.owner.rawValue, $0.name, $0.figure, $0.reason ?? "")
                        < ($1.owner.rawValue, $1.name, $1.figure, $1.reason ?? "")
                }, omitted: state.omitted)
        }
    }

    private static func change(_ key: Key, _ state: inout State, _ body: (inout Figure) -> Void) {
        if state.figures[key] == nil {
            guard state.figures.count < largestCount else {
                state.omitted += 1
                return
            }
            state.figures[key] = Figure(lastUse: state.count)
        }
        if var figure = state.figures.removeValue(forKey: key) {
            body(&figure)
            state.figures[key] = figure
        }
    }

    private static func figures(of report: StatusReport) -> (counters: [(Key, UInt64)], lags: [(Key, UInt64)]) {
        var counters: [(Key, UInt64)] = []
        var lags: [(Key, UInt64)] = []
        for (name, source) in report.sources {
            func add(_ count: UInt64, _ figure: String, of reason: String? = nil) {
                counters.append((Key(owner: .source, name: name, figure: figure, reason: reason), count))
            }
            add(source.accepted, "accepted")
            for (reason, count) in source.refusedByReason { add(count, "refused", of: reason) }
        }
        for (name, destination) in report.destinations {
            func add(_ count: UInt64, _ figure: String, of reason: String? = nil) {
                counters.append((Key(owner: .destination, name: name, figure: figure, reason: reason), count))
            }
            add(destination.delivered, "delivered")
            add(destination.deadLettered, "dead_lettered")
            add(destination.retries, "retries")
            for (reason, count) in destination.filteredByReason { add(count, "filtered", of: reason) }
            lags.append(
                (Key(owner: .destination, name: name, figure: "lag", reason: nil), destination.lagEvents))
        }
        return (counters, lags)
    }
}
