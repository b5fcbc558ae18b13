import Platform
import Telemetry

/// Counts each time that a limit of a source takes effect, and logs it. Any thread.
final class LimitNotices: Sendable {
    private let source: String
    private let statistics: SourceStatistics
    private let telemetry: Telemetry?
    private let clock: any Clock

    init(source: String, statistics: SourceStatistics, telemetry: Telemetry?, clock: any Clock) {
        self.source = source
        self.statistics = statistics
        self.telemetry = telemetry
        self.clock = clock
    }

    /// - Parameter detail: one sentence that says what happened, to whom, and what to do. Evaluated only if logged.
    func note(_ limit: ClientLimit, _ detail: @autoclosure () -> String) {
        statistics.limit(limit, at: clock.wallClock())
        telemetry?.emit(
            LimitTookEffect.self, .warning, about: LimitTookEffect.subject(source, limit)
        ) { LimitTookEffect(source: source, limit: limit, detail: detail()) }
    }
}

/// A source's limit took effect on a client.
struct LimitTookEffect: NamedEvent {
    static let name = "limit_took_effect"
    static let messageID = "04bba0edf5ed5ddeab4bb169b0c47883"
    static let lineLimit = LineLimit.once
    let source: String
    let limit: ClientLimit
    let detail: String
    let level = Level.warning
    var fields: [LogField] { [.source(source), .limit(limit.rawValue), .reason(detail)] }
    var subject: String { Self.subject(source, limit) }
    var message: String { "source \"\(source)\": \(limit.rawValue) took effect: \(detail)" }

    /// One limit of a source hides no line about another.
    static func subject(_ source: String, _ limit: ClientLimit) -> String { source + "/" + limit.rawValue }
}

/// The process is short of file descriptors.
struct DescriptorsShort: NamedEvent {
    static let name = "descriptors_short"
    static let messageID = "7150657f34c55f9e9cab97bfa97d780a"
    static let lineLimit = LineLimit.once
    let detail: String
    let level = Level.warning
    var fields: [LogField] { [.reason(detail)] }
    var message: String {
        """
        accepting clients is paused: \(detail); new clients wait until others disconnect; raise \
        LimitNOFILE= of the unit, or lower max_connections
        """
    }
}
