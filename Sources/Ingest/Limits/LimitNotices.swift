import Platform
import Synchronization
import Telemetry

/// Counts each time that a limit of a source takes effect. Logs at most one line for each limit per interval. Any
/// thread.
final class LimitNotices: Sendable {
    /// How long further effects of a logged limit are only counted.
    static let interval = Duration.seconds(10)

    private struct Window {
        var began: Instant
        /// Effects since the last log line.
        var unlogged: UInt64 = 0
    }

    private let source: String
    private let statistics: SourceStatistics
    private let telemetry: Telemetry?
    private let clock: any Clock
    private let windows = Mutex<[ClientLimit: Window]>([:])

    init(source: String, statistics: SourceStatistics, telemetry: Telemetry?, clock: any Clock) {
        self.source = source
        self.statistics = statistics
        self.telemetry = telemetry
        self.clock = clock
    }

    /// - Parameter detail: one sentence that says what happened, to whom, and what to do.
    func note(_ limit: ClientLimit, _ detail: @autoclosure () -> String) {
        statistics.limit(limit, at: clock.wallClock())
        let now = clock.now()
        let before: UInt64? = windows.withLock { windows in
            if let window = windows[limit], now - window.began < Self.interval {
                windows[limit]?.unlogged += 1
                return nil
            }
            let unlogged = windows[limit]?.unlogged ?? 0
            windows[limit] = Window(began: now)
            return unlogged
        }
        guard let before else { return }
        telemetry?.emit(LimitTookEffect(source: source, limit: limit, detail: detail(), before: before))
    }
}

/// A source's limit took effect on a client.
struct LimitTookEffect: NamedEvent {
    static let name = "limit_took_effect"
    let source: String
    let limit: ClientLimit
    let detail: String
    /// Unlogged effects of the same limit since the last log line.
    let before: UInt64
    let level = Level.warning
    var message: String {
        let more = before == 0 ? "" : " (and \(before) more time\(before == 1 ? "" : "s") since the last such line)"
        return "source \"\(source)\": \(limit.rawValue) took effect: \(detail)\(more)"
    }
}

/// The process is short of file descriptors.
struct DescriptorsShort: NamedEvent {
    static let name = "descriptors_short"
    let detail: String
    let level = Level.warning
    var message: String {
        """
        accepting clients is paused: \(detail); new clients wait until others disconnect; raise \
        LimitNOFILE= of the unit, or lower max_connections
        """
    }
}
