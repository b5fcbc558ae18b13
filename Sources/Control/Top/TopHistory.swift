/// Rates, from one status report after the other. Bounded: the last minute, for what the last report names. Pure.
package struct TopHistory: Sendable {
    /// The number of rates that are kept for each series.
    static let length = 120

    /// What a rate is of.
    package enum Series: Hashable, Sendable {
        case accepted(source: String)
        case refused(source: String)
        case delivered(destination: String)
        case allAccepted
    }

    private var last: (report: StatusReport, at: Double)?
    private var rates: [Series: [Double]] = [:]

    package init() {}

    /// Adds a report.
    /// - Parameter seconds: its time, on a clock that does not go back.
    package mutating func add(_ report: StatusReport, at seconds: Double) {
        defer { last = (report, seconds) }
        guard let last, seconds > last.at else { return }
        let period = seconds - last.at
        var next: [Series: [Double]] = [:]
        var total = 0.0
        func add(_ series: Series, _ old: UInt64?, _ new: UInt64) {
            // After a restart of the daemon, its counters begin at 0 again.
            let growth = old.map { new >= $0 ? new - $0 : new } ?? 0
            let rate = Double(growth) / period
            next[series] = (rates[series] ?? []).suffix(Self.length - 1) + [rate]
            if case .accepted = series { total += rate }
        }
        for (name, source) in report.sources {
            add(.accepted(source: name), last.report.sources[name]?.accepted, source.accepted)
            add(.refused(source: name), last.report.sources[name]?.refused, source.refused)
        }
        for (name, destination) in report.destinations {
            add(.delivered(destination: name), last.report.destinations[name]?.delivered, destination.delivered)
        }
        next[.allAccepted] = (rates[.allAccepted] ?? []).suffix(Self.length - 1) + [total]
        rates = next
    }

    /// The rates per second, oldest first.
    package func rates(of series: Series) -> [Double] { rates[series] ?? [] }

    /// The newest rate; nil: there is only one report.
    package func rate(of series: Series) -> Double? { rates[series]?.last }
}
